"""Which configuration: ranked by what it takes of a card, with the terms that say why."""
