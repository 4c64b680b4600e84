import { expect, test } from "vitest";
import { createMetrics } from "../../src/metrics/metrics.ts";
import type { Sources } from "../../src/metrics/pulled.ts";

const quiet = { commits: 0, busy: 0, waitingWrites: 0, waitingReads: 0 };
const sources: Sources = {
  stores: { links: quiet, state: quiet },
  jobs: { running: 0, waiting: 0, ended: {} },
  approvals: { asked: 0, given: 0, refused: 0, expired: 0 },
  connections: { sessions: 0, streams: 0, calls: 0 },
};

test("the connections of all pools are told together, where there are any", async () => {
  const { write } = createMetrics({ monotonic: () => 0 });
  expect(await write(sources)).not.toMatch(/^waypost_pool_connections/m);
  const links = { ...quiet, pool: { open: 8, idle: 3, waiting: 0 } };
  const state = { ...quiet, pool: { open: 2, idle: 1, waiting: 4 } };
  const text = await write({ ...sources, stores: { links, state } });
  expect(text.match(/^waypost_pool_connections.*$/gm)).toEqual([
    'waypost_pool_connections{state="open"} 10',
    'waypost_pool_connections{state="idle"} 4',
    'waypost_pool_connections{state="waiting"} 4',
  ]);
});

test("what is asked for anew replaces what was told before", async () => {
  const { write } = createMetrics({ monotonic: () => 0 });
  const told = async (commits: number) => {
    const text = await write({ ...sources, stores: { links: { ...quiet, commits } } });
    return text.match(/^waypost_store_commits_total.*$/gm);
  };
  expect(await told(3)).toEqual(['waypost_store_commits_total{store="links"} 3']);
  expect(await told(5)).toEqual(['waypost_store_commits_total{store="links"} 5']);
});

test("times are told in seconds, from begin to end", async () => {
  let now = 0;
  const { write, watchCall } = createMetrics({ monotonic: () => now });
  const call = watchCall("get_link");
  now = 700;
  call.end("ok");
  const text = await write(sources);
  expect(text).toContain('waypost_tool_call_seconds_sum{tool="get_link"} 0.7');
  expect(text).toContain('waypost_tool_call_seconds_bucket{le="0.5",tool="get_link"} 0');
  expect(text).toContain('waypost_tool_call_seconds_bucket{le="1",tool="get_link"} 1');
});
