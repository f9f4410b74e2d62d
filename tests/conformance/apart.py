# SPDX-License-Identifier: Apache-2.0
"""Operators of an .onnx one by one, each on the tensors that ONNX Runtime computes for it.

QuantizeLinear is not continuous: ONNX does not define the order of a convolution's float sum, and a sum next
to a tie rounds to either neighbour. Such a step of a quantised tensor is far above any tolerance of rounding,
and it propagates. An executor is right if every operator is, given equal inputs.
"""

import onnx

# In their outputs a difference of one bit in an input may become one of a whole step.
STEPS = {"QuantizeLinear", "DynamicQuantizeLinear"}


def has_steps(path):
    return any(node.op_type in STEPS for node in onnx.load(str(path), load_external_data=False).graph.node)


def inputs_of(path):
    """Names of the inputs that a caller supplies, in order."""
    graph = onnx.load(str(path), load_external_data=False).graph
    constants = {value.name for value in graph.initializer}
    return [value.name for value in graph.input if value.name not in constants]


def computed(graph):
    """Names of the tensors that operators compute, in their order."""
    return [name for node in graph.node for name in node.output if name]


def with_all_tensors(path, written):
    """Writes the model with all computed tensors as outputs; their names in the order of its outputs."""
    model = onnx.shape_inference.infer_shapes(onnx.load(str(path)))
    known = {value.name: value for value in model.graph.value_info}
    given = {value.name for value in model.graph.output}
    for name in computed(model.graph):
        if name not in given:
            model.graph.output.append(known[name])
    onnx.save(model, str(written))
    return [value.name for value in model.graph.output]


def cut_apart(path, arrays, written):
    """Writes a model without edges: every operator reads graph inputs in place of the outputs of others.
    `arrays`: the tensors of a run by name, the model's inputs among them. Returns the names of the inputs
    and of the outputs in order; the name of an output is that of the tensor."""
    model = onnx.load(str(path))
    graph = model.graph
    if any(attribute.HasField("g") for node in graph.node for attribute in node.attribute):
        raise ValueError("an operator has a body")
    constants = {value.name for value in graph.initializer}
    read = dict.fromkeys(name for node in graph.node for name in node.input
                         if name and name not in constants)

    def described(name, array):
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        return onnx.helper.make_tensor_value_info(name, kind, array.shape)

    outputs = computed(graph)
    for node in graph.node:
        for index, name in enumerate(node.output):
            if name:
                node.output[index] = f"{name} (apart)"
    for values, wanted in ((graph.input, [described(name, arrays[name]) for name in read]),
                           (graph.output, [described(f"{name} (apart)", arrays[name]) for name in outputs])):
        del values[:]
        values.extend(wanted)
    del graph.value_info[:]
    onnx.save(model, str(written))
    return list(read), outputs
