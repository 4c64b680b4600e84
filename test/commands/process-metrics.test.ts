import { Agent } from "node:http";
import { expect, test } from "vitest";
import { listChildren } from "../support/child-processes.ts";
import { createFolder, startServe } from "../support/command.ts";
import { measured, parseSeries, readSeries, scrape, type Series } from "../support/scrape.ts";
import { waitUntil } from "../support/wait-until.ts";

/** `/metrics` of `waypost serve --processes`: one answer for all of them. */

const asked = 'waypost_requests_total{route="GET /links",status="2xx"}';

/** Each scrape has a connection of its own. */
const alone = { agent: new Agent({ keepAlive: false }) };

function countProcesses(series: Series) {
  const count = (state: string) => series.get(`waypost_processes{state="${state}"}`);
  return { answering: count("answering"), silent: count("silent") };
}

test("whichever process is asked tells what all have done, the dead among them", async () => {
  await using folder = await createFolder();
  await using serving = await startServe(folder.path, ["--processes", "2"], measured);
  const requests = 8;
  for (let count = 0; count < requests; count += 1) {
    await serving.call("GET", "/links", { headers: { connection: "close" } });
  }
  // Of so many connections both have some, as they take them from one queue.
  for (let count = 0; count < requests; count += 1) {
    const series = parseSeries((await scrape(serving, undefined, alone)).text);
    expect(series.get(asked)).toBe(requests);
    expect(countProcesses(series)).toEqual({ answering: 2, silent: 0 });
    expect(series.get('waypost_request_seconds_count{route="GET /links"}')).toBe(requests);
    expect(series.get("process_resident_memory_bytes")).toBeGreaterThan(0);
  }

  const [pid = 0, other = 0] = listChildren(serving.pid);
  process.kill(pid, "SIGSTOP");
  // The one that stands still takes no new connection.
  const beside = parseSeries((await scrape(serving, undefined, alone)).text);
  expect(beside.get(asked)).toBe(requests);
  expect(countProcesses(beside)).toEqual({ answering: 1, silent: 1 });

  process.kill(pid, "SIGCONT");
  process.kill(pid, "SIGKILL");
  await waitUntil(() => listChildren(serving.pid).some((each) => each !== pid && each !== other));
  await waitUntil(async () => {
    const after = await readSeries(serving).catch(() => undefined);
    if (after === undefined) return false;
    expect(after.get(asked)).toBe(requests);
    return countProcesses(after).answering === 2;
  });
});
