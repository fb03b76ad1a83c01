"""What lazy, spoiled and calculating answers earn under every reward scheme, and whether it is little."""
