"""The sections of a store, as every page of it lists them. Upper floors add theirs when their app is ready."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """One entry of a store's navigation. `url` names an address that takes the store's id alone."""

    key: str
    label: str
    url: str
    # Where it stands: lower comes first.
    place: int


_sections: dict[str, Section] = {}


def add_section(section: Section) -> None:
    _sections[section.key] = section


def sections() -> list[Section]:
    return sorted(_sections.values(), key=lambda section: section.place)


add_section(Section("overview", "Overview", "console:overview", 10))
add_section(Section("records", "Records", "console:records", 40))
add_section(Section("jobs", "Jobs", "console:jobs", 80))
add_section(Section("settings", "Settings", "console:settings", 90))
