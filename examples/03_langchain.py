# %% [markdown]
# # A LangChain application, before and after
#
# The documentation of a job queue, first behind a retriever in a chain, then behind the tool of an agent. What reaches
# the model is shown before and after. No model and no network are needed: the chain's prompt is looked at, and the
# agent runs with a scripted model.
#
# **Install**, from a clone of the repository:
# `pip install . "./integrations/langchain-squeeze[agents]" langchain-classic matplotlib`, and `pip install notebook` to
# run this page in the folder `examples/`. `python examples/03_langchain.py` does the same without Jupyter.
#
# *Something is missing?* `No module named 'langchain_squeeze'`: the second path of the line above was not installed
# into this kernel's Python. `No module named 'langchain'`: the `[agents]` was left out. `No module named 'kit'`: start
# Jupyter in `examples/`.

# %%
import re

from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from langchain_text_splitters import RecursiveCharacterTextSplitter
from rank_bm25 import BM25Okapi

from kit import bars, before_after, difference, documents, exact_tokenizer, rows, show
from langchain_squeeze import SqueezeCompressor
from squeeze.tokens import load_tokenizer

TOKENIZER = exact_tokenizer()
count = load_tokenizer(TOKENIZER).count
questions = rows("lockgate.jsonl")

manual = [
    Document(page.text, metadata={"source": page.id, "title": page.title}, id=page.id) for page in documents("lockgate")
]
chunks = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=0).split_documents(manual)


def words(text):
    return re.findall(r"\w+", text.lower())


class BM25(BaseRetriever):
    """The eight best chunks by BM25; any other retriever goes in its place."""

    def _get_relevant_documents(self, query, *, run_manager=None):
        scores = index.get_scores(words(query))
        return [chunks[number] for number in sorted(range(len(chunks)), key=lambda number: -scores[number])[:8]]


index = BM25Okapi([words(chunk.page_content) for chunk in chunks])
len(manual), len(chunks), len(questions)

# %% [markdown]
# ## A retriever in a chain
#
# The retriever is wrapped; the chain stays as it is.

# %%
PROMPT = ChatPromptTemplate.from_template(
    "Answer the question from the context alone.\n\n{context}\n\nQuestion: {question}"
)


def context(found):
    return "\n\n".join(document.page_content for document in found)


def chain(retriever):
    return {"context": retriever | context, "question": RunnablePassthrough()} | PROMPT  # | model


squeezed = ContextualCompressionRetriever(
    base_compressor=SqueezeCompressor(max_tokens=400, tokenizer=TOKENIZER), base_retriever=BM25()
)

question = "What happens to a cron time that exists twice in autumn?"
prompts = [chain(retriever).invoke(question).to_messages()[0].text for retriever in (BM25(), squeezed)]
print(f"before: a prompt of {count(prompts[0]):,} tokens")
print(f"after:  a prompt of {count(prompts[1]):,} tokens\n")
print(prompts[1])

# %% [markdown]
# The same prompt with what is gone from it. (Struck through; the marks `…` are new.)

# %%
show(difference(*prompts), "langchain-difference.html")

# %% [markdown]
# Ids and metadata are those of the retrieved documents. Beside them stands what was kept, as offsets into the chunk.

# %%
for document in squeezed.invoke(question):
    note = document.metadata["squeeze"]
    print(f"{document.metadata['source']:22} kept {note['kept']:4.0%}  {note['spans']}")

# %% [markdown]
# ## All questions
#
# For each we know the words that answer it. Are they in the prompt?


# %%
def ask(retriever):
    """For each question the tokens of the prompt, and whether the answer is in it."""
    asked = []
    for row in questions:
        prompt = " ".join(chain(retriever).invoke(row["question"]).to_string().split())
        asked.append((count(prompt), " ".join(row["answer"].split()) in prompt))
    return asked


before, after = ask(BM25()), ask(squeezed)
for name, asked in (("before", before), ("after", after)):
    tokens = sum(size for size, _ in asked) / len(asked)
    print(f"{name:6} {tokens:7,.0f} tokens a prompt, the answer in {sum(there for _, there in asked)} of {len(asked)}")

# %%
lost = [there and not still for (_, there), (_, still) in zip(before, after)]
sizes = [[size for size, _ in asked] for asked in (before, after)]
title = f"Prompts of {sum(sizes[0]) / 24:,.0f} tokens become {sum(sizes[1]) / 24:,.0f}; answers lost: {sum(lost)}"
show(before_after(*sizes, lost, title), "langchain-tokens.png")

# %% [markdown]
# ## An agent
#
# An agent reads what its tools return again in every later step, so a long tool output is paid for several times. The
# middleware shortens it for the user's latest message before the model reads it. The model here is scripted: it calls
# the tool twice, then answers. Each time we count what it was sent.

# %%
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from langchain_squeeze import SqueezeMiddleware

sent = []


class Scripted(GenericFakeChatModel):
    """A model that says what was prepared, and notes how much it was sent."""

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, *args, **kwargs):
        sent.append(sum(count(message.text) for message in messages))
        return super()._generate(messages, *args, **kwargs)


@tool
def search(query: str) -> str:
    """Looks something up in the manual."""
    return context(BM25().invoke(query))


def run(*middleware):
    """The tokens of each call of the model, and the conversation."""
    sent.clear()
    script = [
        AIMessage("", tool_calls=[{"name": "search", "args": {"query": "compact journal free space"}, "id": "1"}]),
        AIMessage("", tool_calls=[{"name": "search", "args": {"query": "disk full queue_full"}, "id": "2"}]),
        AIMessage("Remove failed jobs, then compact; it needs a fifth of the old journal as free space."),
    ]
    agent = create_agent(Scripted(messages=iter(script)), tools=[search], middleware=list(middleware))
    told = agent.invoke(
        {"messages": [("user", "The disk of the journal is full. How do I make room, and what does it need?")]}
    )
    return list(sent), told["messages"]


plain, _ = run()
short, messages = run(SqueezeMiddleware(max_tokens=300, tokenizer=TOKENIZER, only=["search"]))
for step, (left, right) in enumerate(zip(plain, short), 1):
    print(f"call {step}: {left:6,} tokens before, {right:6,} after")
print(f"in all: {sum(plain):6,} tokens before, {sum(short):6,} after")

# %%
found = messages[2]
print(found.text, "\n")
print(found.response_metadata["squeeze"])

# %% [markdown]
# ## What it is worth
#
# Set the price of a million input tokens of your model. Answers cost the same in both cases and are left out.

# %%
INPUT_PRICE = 2.50  # dollars for a million tokens

tokens = {
    "chain": sum(sizes[0]) / 24,
    "chain with squeeze": sum(sizes[1]) / 24,
    "agent": sum(plain),
    "agent with squeeze": sum(short),
}
cost = {name: size * INPUT_PRICE / 1000 for name, size in tokens.items()}
title = f"Dollars of input for 1,000 questions, at ${INPUT_PRICE:.2f} per million tokens"
show(bars(cost, title, "${:,.2f}", best=["chain with squeeze", "agent with squeeze"]), "langchain-cost.png")
print(*(f"${value:.2f} {name}" for name, value in cost.items()), sep="\n")

# %% [markdown]
# ## What to know
#
# - `SqueezeCompressor` is a document transformer, too, and works asynchronously; without `langchain-classic`,
#   `SqueezeCompressor(…).as_runnable()` stands in a chain.
# - Without `only`, the middleware shortens the output of every tool. Errors, images and artifacts pass through.
# - `on_error="passthrough"` lets documents through as they are where compressing fails; by default the error is raised.
# - All settings: `integrations/langchain-squeeze/README.md`.
