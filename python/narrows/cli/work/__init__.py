"""What the commands do, imported when one is called."""
