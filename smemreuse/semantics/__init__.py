"""What operations do: their effects, where pointers point, what index expressions are worth."""
