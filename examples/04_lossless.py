# %% [markdown]
# # Without losing a byte: logs, records and code
#
# What repeats is said once, in a short list in front, and a symbol stands in its place. Nothing is left out: the input
# comes back byte for byte, and this page checks it. No language model and no network are needed.
#
# **Install**, from a clone of the repository: `pip install ".[tokens]" matplotlib`, and `pip install notebook` to run
# this page in the folder `examples/`. `python examples/04_lossless.py` does the same without Jupyter.
#
# *Something is missing?* Tokens are counted by tiktoken's `cl100k_base`, which tiktoken fetches once (1.6 MB). Without
# a network, or behind a proxy that lets nothing through, this page says so and counts by the estimate: the figures move
# by some per cent. `No module named 'kit'`: start Jupyter in `examples/`.

# %%
import squeeze
from kit import DATA, before_after_bars, documents, exact_tokenizer, show
from squeeze.errors import CorruptError

TOKENIZER = exact_tokenizer()  # or "hf:" and the folder of your model

inputs = {
    "log of a gateway": (DATA / "records" / "gateway.log").read_text(encoding="utf-8"),
    "48 orders, JSON": (DATA / "records" / "orders.json").read_text(encoding="utf-8"),
    "Python source": (DATA / "records" / "stock.py").read_text(encoding="utf-8"),
    "handbook, prose": "\n\n".join(passage.text for passage in documents("lighthouses")),
}
results = {name: squeeze.compress(text, method="lossless", tokenizer=TOKENIZER) for name, text in inputs.items()}
print(f"{'':18} {'before':>7} {'after':>7} {'saved':>6}  byte for byte")
for name, result in results.items():
    same = result.restore()[0].encode() == inputs[name].encode()
    print(f"{name:18} {result.tokens_before:7,} {result.tokens_after:7,} {1 - result.kept:6.0%}  {same}")

# %%
counts = {name: (result.tokens_before, result.tokens_after) for name, result in results.items()}
show(before_after_bars(counts, "Tokens before and after, nothing left out"), "lossless-tokens.png")

# %% [markdown]
# The list in front is counted in. It pays where lines, keys and phrases repeat, and hardly in prose.
#
# ## What the model reads
#
# The list, and then the text with symbols in it. The first sentence tells the model how to read it.

# %%
log = results["log of a gateway"]
symbols, coded = log.text.split("---\n", 1)
print(symbols[:330], "…", sep="\n")
print("---", coded[:400] + "…", sep="\n")

# %% [markdown]
# ## The round trip
#
# `restore()` gives every passage as it was. What was changed on the way is found, not passed on:

# %%
restored = log.restore()[0]
print(restored == inputs["log of a gateway"], "\n")
print(*restored.splitlines()[:3], sep="\n")

# %%
changed = log.to_dict()
part = changed["parts"][-1]
part["text"] = part["text"][:-30] + "X" + part["text"][-29:]
try:
    squeeze.Compressed.from_dict(changed).restore()
except CorruptError as error:
    print("CorruptError:", str(error)[:160])

# %% [markdown]
# A model that quotes from the text may quote symbols. `decode_markers` spells an answer out, `decode_stream` does it
# while the answer is written.

# %%
start = coded.index("certificate rotated")
quote = coded[start - 1 : start + 60]
print("the model writes: ", quote)
print("the user is shown:", log.decode_markers(quote))

# %%
pieces = [quote[start : start + 3] for start in range(0, len(quote), 3)]
print("".join(log.decode_stream(pieces)) == log.decode_markers(quote))

# %% [markdown]
# ## Chunks that overlap
#
# A retriever with a sliding window finds the same sentence twice. `overlap="merge"` says it once, and every window
# still comes back whole.

# %%
prose = inputs["handbook, prose"]
windows = [prose[start : start + 1200] for start in range(0, 12000, 600)]
for overlap in ("keep", "merge"):
    result = squeeze.compress(windows, method="lossless", tokenizer=TOKENIZER, overlap=overlap)
    same = list(result.restore()) == windows
    print(f"overlap={overlap!r}: {result.tokens_before:,} become {result.tokens_after:,}, byte for byte: {same}")

# %% [markdown]
# ## First select, then code
#
# For one question about a long log most lines do not matter. A pipeline keeps the lines near the question within a
# budget, and codes what it kept; `restore()` then gives the kept lines.

# %%
question = "When was the certificate of payments rotated, and which keepalive did it set?"
pipeline = squeeze.Pipeline([squeeze.load(name, tokenizer=TOKENIZER) for name in ("edu", "lossless")])
both = pipeline.compress(inputs["log of a gateway"], question, budget=1500)
alone = squeeze.compress(inputs["log of a gateway"], question, max_tokens=1500, tokenizer=TOKENIZER)
for name, result, text in (("edu", alone, alone.text), ("edu, then lossless", both, both.restore()[0])):
    found = "certificate rotated" in text and "keepalive_s=5" in text
    print(f"{name:18} {result.tokens_after:6,} tokens, the line is there: {found}")

# %% [markdown]
# ## When it is not worth it
#
# `min_saving` leaves an input as it is unless so much can be saved, and says so.

# %%
result = squeeze.compress(prose, method="lossless", tokenizer=TOKENIZER, min_saving=0.3)
print(result.text == prose, result.warnings[0].code)

# %% [markdown]
# ## What to know
#
# - A model sees each repeated phrase once. Ask it for facts, not to count how often something occurs.
# - Small models read symbols less well than text; `python -m squeeze.bench.lossless_reader --help` measures it.
# - The provider's cache keeps what stays the same from call to call: an input that is always the same is cheaper cached
#   than coded anew. `squeeze.advise(…, cached=…)` reckons with it.
