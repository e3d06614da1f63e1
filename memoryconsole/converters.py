"""What may stand in an address. Anything else is no address: 404 before a view runs. Importing registers them."""

from django.urls import register_converter


class StoreId:
    # Whatever is no store is not found by looking, with the body its route promises.
    regex = "[^/\\0]{1,100}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class Number:
    # 15 digits stay below 2**53 and PostgreSQL's bigint.
    regex = "[0-9]{1,15}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


class FactKindName:
    # The two namespaces of facts; there is no third to look in.
    regex = "relation|observation"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(StoreId, "store")
register_converter(Number, "number")
register_converter(FactKindName, "fact_kind")
