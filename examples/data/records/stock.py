"""The stock service: what lies in which warehouse, and who has reserved it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

logger = logging.getLogger(__name__)

RESERVATION_SECONDS = 900
LOW_WATER = 5


class StockError(Exception):
    """A request that the stock cannot answer."""


class UnknownArticle(StockError):
    """There is no such article."""


class UnknownWarehouse(StockError):
    """There is no such warehouse."""


class NotEnough(StockError):
    """Less is free than was asked for."""


@dataclass
class Reservation:
    """So many pieces of an article, held for an order until a moment."""

    order_id: str
    article_id: str
    warehouse_id: str
    quantity: int
    expires_at: float


@dataclass
class Shelf:
    """What one warehouse has of one article."""

    article_id: str
    warehouse_id: str
    quantity: int = 0
    reservations: list[Reservation] = field(default_factory=list)

    def reserved(self, now: float) -> int:
        """Pieces that are held at this moment."""
        return sum(reservation.quantity for reservation in self.reservations if reservation.expires_at > now)

    def free(self, now: float) -> int:
        """Pieces that can be promised at this moment."""
        return self.quantity - self.reserved(now)


class Stock:
    """All shelves of all warehouses."""

    def __init__(self) -> None:
        self._shelves: dict[tuple[str, str], Shelf] = {}
        self._articles: set[str] = set()
        self._warehouses: set[str] = set()

    def add_article(self, article_id: str) -> None:
        """Makes an article known; one that is known stays as it is."""
        if article_id in self._articles:
            logger.info("article %s is known already", article_id)
            return
        self._articles.add(article_id)
        logger.info("article %s was added", article_id)

    def add_warehouse(self, warehouse_id: str) -> None:
        """Makes a warehouse known; one that is known stays as it is."""
        if warehouse_id in self._warehouses:
            logger.info("warehouse %s is known already", warehouse_id)
            return
        self._warehouses.add(warehouse_id)
        logger.info("warehouse %s was added", warehouse_id)

    def _shelf(self, article_id: str, warehouse_id: str) -> Shelf:
        if article_id not in self._articles:
            raise UnknownArticle(f"there is no article {article_id!r}")
        if warehouse_id not in self._warehouses:
            raise UnknownWarehouse(f"there is no warehouse {warehouse_id!r}")
        return self._shelves.setdefault((article_id, warehouse_id), Shelf(article_id, warehouse_id))

    def receive(self, article_id: str, warehouse_id: str, quantity: int) -> int:
        """Puts pieces on a shelf and returns how many lie there."""
        if quantity <= 0:
            raise ValueError(f"quantity is {quantity}; allowed: a whole number from 1 up")
        shelf = self._shelf(article_id, warehouse_id)
        shelf.quantity += quantity
        logger.info("received %d of article %s in warehouse %s", quantity, article_id, warehouse_id)
        return shelf.quantity

    def reserve(self, order_id: str, article_id: str, warehouse_id: str, quantity: int, now: float) -> Reservation:
        """Holds pieces for an order; the hold ends by itself after a quarter of an hour."""
        if quantity <= 0:
            raise ValueError(f"quantity is {quantity}; allowed: a whole number from 1 up")
        shelf = self._shelf(article_id, warehouse_id)
        if shelf.free(now) < quantity:
            logger.warning("order %s wants %d of article %s, less is free", order_id, quantity, article_id)
            raise NotEnough(f"{shelf.free(now)} of article {article_id!r} are free in warehouse {warehouse_id!r}")
        reservation = Reservation(order_id, article_id, warehouse_id, quantity, now + RESERVATION_SECONDS)
        shelf.reservations.append(reservation)
        logger.info("reserved %d of article %s in warehouse %s", quantity, article_id, warehouse_id)
        return reservation

    def release(self, order_id: str, article_id: str, warehouse_id: str) -> int:
        """Ends the holds of an order and returns how many pieces they had."""
        shelf = self._shelf(article_id, warehouse_id)
        ended = [reservation for reservation in shelf.reservations if reservation.order_id == order_id]
        shelf.reservations = [reservation for reservation in shelf.reservations if reservation.order_id != order_id]
        released = sum(reservation.quantity for reservation in ended)
        logger.info("released %d of article %s in warehouse %s", released, article_id, warehouse_id)
        return released

    def ship(self, order_id: str, article_id: str, warehouse_id: str) -> int:
        """Takes what an order holds off the shelf and returns how many pieces that were."""
        shelf = self._shelf(article_id, warehouse_id)
        shipped = self.release(order_id, article_id, warehouse_id)
        shelf.quantity -= shipped
        logger.info("shipped %d of article %s from warehouse %s", shipped, article_id, warehouse_id)
        if shelf.quantity < LOW_WATER:
            logger.warning("only %d of article %s are left in warehouse %s", shelf.quantity, article_id, warehouse_id)
        return shipped

    def report(self, now: float) -> list[dict[str, object]]:
        """A line for each shelf, in the order of article and warehouse."""
        lines: list[dict[str, object]] = []
        for (article_id, warehouse_id), shelf in sorted(self._shelves.items()):
            lines.append(
                {
                    "article_id": article_id,
                    "warehouse_id": warehouse_id,
                    "quantity": shelf.quantity,
                    "reserved": shelf.reserved(now),
                    "free": shelf.free(now),
                }
            )
        return lines
