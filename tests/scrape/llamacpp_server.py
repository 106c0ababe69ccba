"""A real llama.cpp server with a tiny random model that is made here: `python llamacpp_server.py FOLDER`.

Prints its address and serves until its standard input closes. Needs the packages xllamacpp and gguf.
"""

from __future__ import annotations

import sys
from pathlib import Path

HIDDEN, LAYERS, FEED_FORWARD, HEADS, CONTEXT = 64, 2, 128, 4, 4096
SPACE = "\u0120"
"""How byte-level BPE spells a space."""


def byte_letters() -> list[str]:
    """One printable letter per byte, as byte-level BPE vocabularies have them."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(spare)) for byte in range(256)]


def write_model(path: Path) -> None:
    """A llama of 0.5 MB with random weights; at least one merge is needed for its tokenizer to load."""
    import gguf
    import numpy as np

    tokens = ["<unk>", "<s>", "</s>", *byte_letters(), SPACE * 2]
    kinds = [gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL] * (len(tokens) - 3)
    model = gguf.GGUFWriter(str(path), "llama")
    model.add_name("tiny")
    model.add_context_length(CONTEXT)
    model.add_embedding_length(HIDDEN)
    model.add_block_count(LAYERS)
    model.add_feed_forward_length(FEED_FORWARD)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_rope_dimension_count(HIDDEN // HEADS)
    model.add_vocab_size(len(tokens))
    model.add_tokenizer_model("gpt2")
    model.add_tokenizer_pre("default")
    model.add_token_list(tokens)
    model.add_token_types(kinds)
    model.add_token_merges([f"{SPACE} {SPACE}"])
    model.add_bos_token_id(1)
    model.add_eos_token_id(2)
    model.add_add_bos_token(False)
    random = np.random.default_rng(7)

    def weights(name: str, *shape: int) -> None:
        model.add_tensor(f"{name}.weight", (random.standard_normal(shape) * 0.02).astype(np.float32))

    def ones(name: str) -> None:
        model.add_tensor(f"{name}.weight", np.ones(HIDDEN, dtype=np.float32))

    weights("token_embd", len(tokens), HIDDEN)
    weights("output", len(tokens), HIDDEN)
    ones("output_norm")
    for layer in range(LAYERS):
        ones(f"blk.{layer}.attn_norm")
        ones(f"blk.{layer}.ffn_norm")
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            weights(f"blk.{layer}.{name}", HIDDEN, HIDDEN)
        weights(f"blk.{layer}.ffn_gate", FEED_FORWARD, HIDDEN)
        weights(f"blk.{layer}.ffn_up", FEED_FORWARD, HIDDEN)
        weights(f"blk.{layer}.ffn_down", HIDDEN, FEED_FORWARD)
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


def serve(model: Path, metrics: bool) -> None:
    import xllamacpp

    options = xllamacpp.CommonParams()
    options.model.path = str(model)
    options.hostnames = ["127.0.0.1"]
    options.port = 0
    options.n_ctx, options.n_parallel, options.warmup = 2048, 2, False
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
    options.endpoint_metrics = metrics
    server = xllamacpp.Server(options)
    print(f"listening {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    gguf_file = Path(sys.argv[1]) / "tiny.gguf"
    write_model(gguf_file)
    serve(gguf_file, "--no-metrics" not in sys.argv)
