"""Consoles: terminals in sandboxes that outlive whoever looks at them."""
