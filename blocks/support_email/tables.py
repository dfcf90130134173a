"""Customers with their addresses, and their tickets."""

from sqlalchemy import ForeignKey, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """The domain's own tables; the ledger does not know them."""

    type_annotation_map = {str: Text()}  # noqa: RUF012 (read by SQLAlchemy)


class Customer(Base):
    """A customer of a tenant."""

    __tablename__ = "customers"

    id: Mapped[str] = mapped_column(primary_key=True)
    tenant: Mapped[str] = mapped_column(index=True)
    name: Mapped[str]


class CustomerEmail(Base):
    """The address of a customer; its version counts every change."""

    __tablename__ = "customer_emails"

    customer: Mapped[str] = mapped_column(ForeignKey("customers.id"), primary_key=True)
    address: Mapped[str] = mapped_column(index=True)
    version: Mapped[int]


class Ticket(Base):
    """What a customer wrote; `version` counts every change."""

    __tablename__ = "tickets"

    id: Mapped[str] = mapped_column(primary_key=True)
    tenant: Mapped[str]
    customer: Mapped[str | None] = mapped_column(ForeignKey("customers.id"))
    sender: Mapped[str]
    subject: Mapped[str]
    message: Mapped[str]
    suggested_reply: Mapped[str]
    language: Mapped[str]
    version: Mapped[int]
