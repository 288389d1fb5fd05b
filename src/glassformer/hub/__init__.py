"""Import from and export to other engines and formats. Torch is loaded only when it is needed."""
