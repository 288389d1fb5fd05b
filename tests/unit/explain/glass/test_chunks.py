"""Arrays and texts in chunks: they come back as they were, and the same data give the same bytes."""

from __future__ import annotations

import base64
import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.explain.glass.chunks import Chunks, Kind, array_at, packed, text_at, unpacked


@pytest.mark.parametrize(("kind", "dtype"), [("f32", "<f4"), ("f16", "<f2"), ("i32", "<i4")])
def test_an_array_comes_back(kind: Kind, dtype: str) -> None:
    array = np.arange(-7, 8).reshape(3, 5)
    chunks = Chunks()
    chunks.add_text("x")
    ref = chunks.add(array, kind)
    found = array_at([unpacked(one) for one in chunks.packed()], ref)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, array)
    assert ref.offset % 4 == 0


@given(sizes=st.lists(st.integers(0, 70), max_size=8), texts=st.lists(st.text(max_size=30), max_size=4))
def test_anything_comes_back_whatever_the_size_of_a_chunk(sizes: list[int], texts: list[str]) -> None:
    chunks = Chunks(size=64)
    texts = [text.encode("utf-8", "ignore").decode() for text in texts]
    arrays = [np.arange(size, dtype=np.float32) - number for number, size in enumerate(sizes)]
    refs = [chunks.add(array) for array in arrays]
    text_refs = [chunks.add_text(text) for text in texts]
    blocks = [unpacked(one) for one in chunks.packed()]
    assert all(len(block) <= 64 for block in blocks)
    for array, ref in zip(arrays, refs, strict=True):
        np.testing.assert_array_equal(array_at(blocks, ref), array)
    assert [text_at(blocks, ref) for ref in text_refs] == texts


def test_what_is_larger_than_a_chunk_begins_one_and_continues_in_the_next() -> None:
    chunks = Chunks(size=64)
    chunks.add_text("abc")
    ref = chunks.add(np.arange(40, dtype=np.float32))
    assert (ref.chunk, ref.offset, [len(block) for block in chunks.blocks]) == (1, 0, [3, 64, 64, 32])


def test_the_same_data_give_the_same_bytes_without_a_date() -> None:
    content = bytes(range(256)) * 5
    text = packed(content)
    assert text == packed(bytearray(content))
    raw = base64.b64decode(text)
    assert raw[4:8] == bytes(4)  # the time of change
    assert raw[3] == 0  # no name
    assert gzip.decompress(raw) == content
