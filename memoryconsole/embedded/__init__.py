"""The database and the broker that come with the project: where they live and how they start.

Nothing here imports Django, so that settings may ask where the parts are before there are any settings.
"""
