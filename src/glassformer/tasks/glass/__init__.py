"""Pages of any model that `glassformer.load` returns: `glassformer explain MODEL TEXT --html glass.html`."""
