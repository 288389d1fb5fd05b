"""The page of `explain --html`: one offline file in which the model itself runs. docs/glass.md describes it."""
