"""Build the graph of all-MiniLM-L6-v2 that computes with its 8-bit weights.

The graph of the package converts the weights to 32-bit numbers first, which is three times slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

if TYPE_CHECKING:
    from numpy.typing import NDArray

INPUT, OUTPUT = "input_ids", "last_hidden_state"
"""Names of the identifiers of tokens, of shape (texts, tokens), and of their states."""

_LAYERS, _HEADS = 6, 12
_EPSILON = 1e-12
_ONNX_RUNTIME = "com.microsoft"
"""The domain of the operators that only ONNX Runtime has."""


def build_model(path: str, *, has_unsigned_weights: bool) -> bytes:
    """Return the ONNX model at `path` with its weights, for texts with equal numbers of tokens.

    Processors without VNNI need the weights as uint8 instead of int8: they add products of uint8
    and int8 with overflow.
    """
    builder = _Builder(onnx.load(path).graph, has_unsigned_weights=has_unsigned_weights)
    content: bytes = builder.build().SerializeToString()
    return content


class _Builder:
    """Adds the operators one after the other; the methods return the names of their outputs."""

    def __init__(self, source: onnx.GraphProto, *, has_unsigned_weights: bool) -> None:
        self._has_unsigned_weights = has_unsigned_weights
        arrays = {item.name: onnx.numpy_helper.to_array(item) for item in source.initializer}
        self._arrays = arrays
        self._matrices = iter(
            [
                (arrays[f"{name}_q"], arrays[f"{name}_scale"].ravel())
                for node in source.node
                if node.op_type == "MatMul" and f"{(name := node.input[1])}_q" in arrays
            ]
        )
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def build(self) -> onnx.ModelProto:
        """Return the complete model."""
        states = self._embed_tokens()
        for number in range(_LAYERS):
            states = self._add_layer(f"inner.encoder.layer.{number}.", states)
        self._nodes[-1].output[0] = OUTPUT
        value = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(
            self._nodes,
            "MiniLM",
            [value(INPUT, onnx.TensorProto.INT64, ["texts", "tokens"])],
            [value(OUTPUT, onnx.TensorProto.FLOAT, ["texts", "tokens", "dimensions"])],
            self._constants,
        )
        opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid(_ONNX_RUNTIME, 1)]
        return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def _embed_tokens(self) -> str:
        prefix = "inner.embeddings."
        words, places = f"{prefix}word_embeddings.weight", f"{prefix}position_embeddings.weight"
        positions = self._arrays[f"{places}_q"] * self._arrays[f"{places}_scale"]
        positions += self._arrays[f"{prefix}token_type_embeddings.weight"][0]
        zero = self._constant(np.zeros(1, np.int64))
        length = self._add("Shape", [INPUT], start=1)
        rows = self._add("Gather", [self._constant(self._arrays[f"{words}_q"]), INPUT])
        scales = self._add("Gather", [self._constant(self._arrays[f"{words}_scale"]), INPUT])
        rows = self._add("Cast", [rows], to=onnx.TensorProto.FLOAT)
        tokens = self._add("Mul", [rows, scales])
        positions = self._add("Slice", [self._constant(positions), zero, length, zero])
        return self._add_and_normalize(f"{prefix}LayerNorm", tokens, positions)

    def _add_layer(self, prefix: str, states: str) -> str:
        attention = f"{prefix}attention."
        names = [f"{attention}self.{name}.bias" for name in ("query", "key", "value")]
        joined = self._multiply(states, names)
        parts = self._add_split("Split", [joined], 3, axis=-1, num_outputs=3)
        heads = self._add("MultiHeadAttention", parts, _ONNX_RUNTIME, num_heads=_HEADS)
        output = self._multiply(heads, [f"{attention}output.dense.bias"])
        states = self._add_and_normalize(f"{attention}output.LayerNorm", states, output)
        inner = self._multiply(states, [f"{prefix}intermediate.dense.bias"])
        inner = self._add("Gelu", [inner], _ONNX_RUNTIME)
        output = self._multiply_by_token(inner, f"{prefix}output.dense.bias")
        return self._add_and_normalize(f"{prefix}output.LayerNorm", states, output)

    def _multiply(self, states: str, biases: Sequence[str]) -> str:
        """Multiply by the next matrices, one per bias, side by side; add the biases."""
        product = self._quantize_and_multiply(states, len(biases))
        bias = np.concatenate([self._arrays[name] for name in biases])
        return self._add("Add", [product, self._constant(bias)])

    def _multiply_by_token(self, states: str, bias: str) -> str:
        """Multiply by the next matrix, with a scale for each token, and add a bias.

        After the activation function a few tokens have far larger values than the others, which
        would be rounded coarsely with a common scale.
        """
        last_axis = self._constant(np.array([-1], np.int64))
        largest = self._add("ReduceMax", [self._add("Abs", [states]), last_axis])
        product = self._quantize_and_multiply(self._add("Div", [states, largest]), 1)
        product = self._add("Mul", [product, largest])
        return self._add("Add", [product, self._constant(self._arrays[bias])])

    def _quantize_and_multiply(self, states: str, count: int) -> str:
        """Round the states to 8 bits with a common scale, and multiply by the next matrices."""
        matrices = [next(self._matrices) for _ in range(count)]
        weights = np.concatenate([matrix for matrix, _ in matrices], axis=1)
        scales = np.concatenate([scales for _, scales in matrices])
        zeros = np.zeros(scales.shape, weights.dtype)
        if self._has_unsigned_weights:
            weights, zeros = _to_unsigned(weights), _to_unsigned(zeros)
        inputs = [states, *map(self._constant, (weights, scales, zeros))]
        return self._add("DynamicQuantizeMatMul", inputs, _ONNX_RUNTIME)

    def _add_and_normalize(self, norm: str, *states: str) -> str:
        weights = [self._constant(self._arrays[f"{norm}.{name}"]) for name in ("weight", "bias")]
        total = self._add("Add", states)
        return self._add("LayerNormalization", [total, *weights], axis=-1, epsilon=_EPSILON)

    def _constant(self, array: NDArray[Any]) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _add(self, operator: str, inputs: Sequence[str], domain: str = "", **options: Any) -> str:
        return self._add_split(operator, inputs, 1, domain, **options)[0]

    def _add_split(
        self, operator: str, inputs: Sequence[str], count: int, domain: str = "", **options: Any
    ) -> list[str]:
        outputs = [f"{operator}_{len(self._nodes)}_{number}" for number in range(count)]
        node = onnx.helper.make_node(operator, inputs, outputs, domain=domain, **options)
        self._nodes.append(node)
        return outputs


def _to_unsigned(array: NDArray[np.int8]) -> NDArray[np.uint8]:
    return (array.astype(np.int16) + 128).astype(np.uint8)
