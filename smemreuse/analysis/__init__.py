"""From the access tree to live ranges: touches, linearization, attribution policies, liveness."""
