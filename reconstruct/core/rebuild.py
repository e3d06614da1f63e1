"""The whole of a reconstruction, stage by stage.

``rebuild`` is one pass over a snapshot. A reader that has yet to find out what belongs into it asks the same
stages on its way: ``decide`` tells how deep to retrieve, ``bundle`` whose mentions to read, ``reach`` which
entities' records, and ``arrange`` whose texts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reconstruct.core.allocate import Place, carried, sequence
from reconstruct.core.bundle import Cluster, bundle
from reconstruct.core.policy import Policy, decide
from reconstruct.core.quote import order_nodes, quote
from reconstruct.core.structure import Item, arrange
from reconstruct.core.types import InvalidSnapshot, Pool, Ref, Request, Settings, Snapshot, StoredText
from reconstruct.core.walk import reach


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOrder:
    """The node indices of a kept claim's text, best first."""

    ref: Ref
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction:
    """Everything that was decided for one answer; its body and its audit are both read off this.

    ``clusters``: all of them, in item order. ``items``: the chosen ones. ``sequence``: every quote they have,
    in the fixed order, of which the answer carries the first ``carried``. ``node_orders``: for every kept
    claim with current nodes, whether its quote is carried or not.
    """

    request: Request
    policy: Policy
    pool: Pool = field(repr=False)
    clusters: tuple[Cluster, ...]
    items: tuple[Item, ...]
    sequence: tuple[Place, ...]
    carried: int
    node_orders: tuple[NodeOrder, ...]

    @property
    def returned(self) -> int:
        """How many of the items are in the answer: those whose head is carried."""
        return sum(place.turn == 0 for place in self.sequence[: self.carried])

    @property
    def withheld(self) -> bool:
        """The budget kept an item or an excerpt back."""
        return self.carried < len(self.sequence)

    @property
    def used_budget(self) -> int:
        """Code points of quoted text in the answer."""
        return sum(len(place.quote.content) for place in self.sequence[: self.carried])


def rebuild(snapshot: Snapshot, request: Request, settings: Settings) -> Reconstruction:
    """Select, order and assign roles; never compose. ``settings`` have passed ``check_policy``.

    Raises InvalidSnapshot when the text of a kept claim, or a cosine that is needed, was not read.
    """
    pool = snapshot.pool
    policy = decide(request, settings)
    clusters = bundle(pool, policy.adjacency_seconds)
    chosen = clusters[: policy.count.effective]
    reaches = reach(chosen, snapshot.graph, policy.max_hops)
    items = arrange(chosen, reaches, snapshot.records, pool, policy.max_evidence)
    texts = _kept_texts(items, snapshot.texts)
    orders = {
        ref: order_nodes(text, request.query, query_embedded=pool.query_embedded, rrf_k=policy.rrf_k)
        for ref, text in texts.items()
    }
    quotes = [[quote(texts[ref], orders[ref], policy.preview_chars) for ref in item.kept] for item in items]
    places = sequence(quotes)
    return Reconstruction(
        request=request,
        policy=policy,
        pool=pool,
        clusters=clusters,
        items=items,
        sequence=places,
        carried=carried(places, policy.budget.effective),
        node_orders=tuple(NodeOrder(ref=ref, indices=order) for ref, order in orders.items() if order),
    )


def _kept_texts(items: tuple[Item, ...], texts: tuple[StoredText, ...]) -> dict[Ref, StoredText]:
    by_ref = {text.ref: text for text in texts}
    kept = [ref for item in items for ref in item.kept]
    if missing := [str(ref) for ref in kept if ref not in by_ref]:
        raise InvalidSnapshot(f"no text was read for {', '.join(missing)}")
    return {ref: by_ref[ref] for ref in kept}
