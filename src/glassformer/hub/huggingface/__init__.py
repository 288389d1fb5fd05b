"""Hugging Face folders: config.json, model.safetensors (in shards too), tokenizer files; in both directions.

keys.py        how names and shapes of tensors correspond: a map is data, read forwards and backwards
layout.py      what a layout is; layouts/ has one file for each family of `model_type`
fields.py      reads config.json; an unsupported value is an error that names it
checkpoint.py  tensors on the disk
tokenizers.py  the tokenizer files
folders.py     a whole folder, in and out
"""
