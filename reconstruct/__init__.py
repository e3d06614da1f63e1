"""How a memory is rebuilt: recall, the pure core, contents and the read side of declared associations."""
