"""The node agent's page: catalogue names behind one prefix, so its table is the catalogue itself."""

from collectors.scrape.aliases.row import Dialect, Row
from telemetry import catalog
from telemetry.model import Metric, Scope

AGENT = Dialect(
    "agent",
    (catalog.WIRE_PREFIX,),
    tuple(
        Row(name, metric, labels={label: label for label in metric.by})
        for metric in catalog.METRICS
        if isinstance(metric, Metric) and metric.scope is Scope.NODE
        for name in (metric.name, *metric.formerly)
    ),
)
