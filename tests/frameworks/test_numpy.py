"""NumPy 2: the columns of the engine match the output of `headroom query`."""

import json

from frameworks.programs import SAMPLE, FrameworkTest
from integration import support

QUERY = "select name, sum(duration_ns) as ns from gpu_tasks group by name order by ns desc limit 3"
COLUMNS = f"""
    import json, sys
    import headroom

    trace = headroom.load(sys.argv[1])
    frame = trace.tables.gpu_tasks.to_pandas(["name", "duration_ns"])
    sums = frame.groupby("name", observed=True).duration_ns.sum().nlargest(3)
    result = trace.query({QUERY!r})
    of_query = zip(result["name"].tolist(), result["ns"].tolist())
    print(json.dumps([[list(row) for row in rows] for rows in (sums.items(), of_query)]))
"""


class NumPy(FrameworkTest):
    def test_columns_are_right(self):
        outcome = support.headroom("query", "--json", SAMPLE, QUERY)
        self.assertEqual(outcome.code, 0, outcome)
        rows = outcome.json()["rows"]
        program = self.run_program(COLUMNS, SAMPLE)
        of_table, of_query = json.loads(program.text)
        self.assertEqual(of_table, rows)
        self.assertEqual(of_query, rows)
