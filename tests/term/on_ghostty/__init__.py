"""The terminal by libghostty-vt, module by module."""
