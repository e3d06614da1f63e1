"""Bodies of declarations, and what is read out of their answers."""


def named(*names):
    return {"entities": [{"name": name} for name in names]}


def relation(subject, predicate, object_):
    return {"relations": [{"subject": subject, "predicate": predicate, "object": object_}]}


def paths(answer):
    return [item["item"] for item in answer["dropped"]]
