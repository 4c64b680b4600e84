import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { createFolder, run, runJson, startServe, type Folder } from "../support/command.ts";
import { visitAt } from "../support/link-host.ts";
import { startDeployment } from "../support/remote.ts";
import { openForAll } from "../support/open-for.ts";

/** `waypost stats`, after real visits to a real server. */

let folder: Folder;

openForAll(createFolder, async (opened) => {
  folder = opened;
  await using serving = await startServe(folder.path, [], {
    env: { WAYPOST_COUNTRY_HEADER: "CF-IPCountry" },
  });
  for (const path of ["spring", "autumn"]) {
    await serving.call("POST", "/links", { body: { path, url: "https://shop.example/" } });
  }
  const port = Number(new URL(serving.places.url).port);
  const visit = (path: string) =>
    visitAt(port, path, {
      host: `default.localhost:${port}`,
      headers: { "cf-ipcountry": "de", referer: "https://news.example/today" },
    });
  for (let turn = 0; turn < 4; turn += 1) expect((await visit("/spring")).status).toBe(302);
  expect((await visit("/autumn?wp=qr")).status).toBe(302);
  await serving.stop();
});

const words = (...more: readonly string[]) => ["stats", "--data", folder.path, ...more];

test("waypost stats prints a bar for each row and a summary sentence", async () => {
  const { code, stdout, stderr } = await run(words("--by", "link"));
  expect([code, stderr]).toEqual([0, ""]);
  const [sentence, , first, second] = stdout.split("\n");
  expect(sentence).toMatch(
    /^All links had 5 clicks from .* \(so far\)\. Most clicks: \/spring \(4\)\.$/,
  );
  expect(first).toMatch(/^\/spring {2}4 {2}█{40}$/);
  expect(second).toMatch(/^\/autumn {2}1 {2}█{10}$/);
});

test("waypost stats accepts the path of a link and prints JSON with --json", async () => {
  const { stats } = await runJson(words("/spring", "--by", "referrer", "--compare", "--json"));
  expect(stats.total).toEqual({ clicks: 4, opens: 0, installs: 0 });
  expect(stats.rows).toMatchObject([{ key: "news.example", clicks: 4, previous: 0 }]);
  const country = await runJson(words("--filter", "path_eq=autumn", "--by", "country", "--json"));
  expect(country.stats.rows).toMatchObject([{ key: "DE", clicks: 1 }]);
});

test.each([
  [["nowhere"], /no link has the path "nowhere"/],
  [["--from", "yesterday"], /from must be a date such as .*, not "yesterday"\n$/],
  [["--by", "weak"], /^waypost: by must be one of .*, not "weak"; did you mean week\?\n$/],
  [["--from", ""], /from must be a date such as .*, not ""\n$/],
  [["a", "b"], /use stats \[PATH\]/],
])("waypost stats %j is refused with advice on how to fix it", async (more, said) => {
  const { code, stderr } = await run(words(...more));
  expect([code, stderr]).toEqual([2, expect.stringMatching(said)]);
});

test.each([
  ["a server with another API", "Not Found"],
  ["a server that lacks the endpoint", messages.route_unknown],
])("waypost stats reports that %s has no statistics", async (_, error) => {
  await using deployment = await startDeployment((_, response) => {
    response.writeHead(404, { "content-type": "application/json" });
    response.end(JSON.stringify({ error }));
  });
  const env = { WAYPOST_BASE_URL: deployment.url, WAYPOST_API_KEY: "key" };
  const { code, stdout, stderr } = await run(words(), { env });
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^waypost: this server has no statistics: .*link_stats.*; [^\n]+\n$/);
  expect(stderr).toContain("WAYPOST_BASE_URL");
  expect(stderr).not.toContain("doctor");
});
