import { expect, test } from "vitest";
import { createMetrics } from "../../src/metrics/metrics.ts";
import type { MetricSources } from "../../src/metrics/pulled.ts";

/** The text that GET /metrics returns. */

const sources: MetricSources = {
  commits: { links: 0, state: 0 },
  jobs: { running: 0, waiting: 0, ended: {} },
  approvals: { asked: 0, given: 0, refused: 0, expired: 0 },
  connections: { sessions: 0, streams: 0, calls: 0 },
};

test("the metrics include connection counts if the database has a connection pool", async () => {
  const { write } = createMetrics();
  expect(await write(sources)).not.toMatch(/^waypost_pool_connections/m);
  const text = await write({ ...sources, pool: { open: 8, idle: 3, waiting: 4 } });
  expect(text.match(/^waypost_pool_connections.*$/gm)).toEqual([
    'waypost_pool_connections{state="open"} 8',
    'waypost_pool_connections{state="idle"} 3',
    'waypost_pool_connections{state="waiting"} 4',
  ]);
});

test("every read of the metrics returns the current value of a counter", async () => {
  const { write } = createMetrics();
  const readCommits = async (commits: number) => {
    const text = await write({ ...sources, commits: { links: commits } });
    return text.match(/^waypost_store_commits_total.*$/gm);
  };
  expect(await readCommits(3)).toEqual(['waypost_store_commits_total{store="links"} 3']);
  expect(await readCommits(5)).toEqual(['waypost_store_commits_total{store="links"} 5']);
});

test("the metrics add a tool call's duration to the sum and to the matching buckets", async () => {
  const { write, countCall } = createMetrics();
  countCall("get_link", "ok", 0.7);
  const text = await write(sources);
  expect(text).toContain('waypost_tool_call_seconds_sum{tool="get_link"} 0.7');
  expect(text).toContain('waypost_tool_call_seconds_bucket{le="0.5",tool="get_link"} 0');
  expect(text).toContain('waypost_tool_call_seconds_bucket{le="1",tool="get_link"} 1');
});
