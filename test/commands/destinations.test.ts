import { expect, test } from "vitest";
import { createFolder, run, runJson, startServe, type Folder } from "../support/command.ts";
import { connectV1 } from "../support/mcp-clients.ts";
import { listEmbedded } from "./plant-embedded.ts";
import { openForEach } from "../support/open-for.ts";

/** WAYPOST_DESTINATIONS and `projects update --destinations` from the command line. */

let folder: Folder;
openForEach(createFolder, (opened) => (folder = opened));

const env = { WAYPOST_DESTINATIONS: "shop.example,*.shop.example" };
const rows = "path,url\na,https://shop.example/\nb,https://evil.example/\n";
const refusal = "must point to one of the allowed hosts (shop.example";

test("doctor shows the allowed destination hosts and refuses an invalid list", async () => {
  const words = ["doctor", "--data", folder.path];
  expect((await run(words)).stdout).toMatch(/^ok +configuration .*, destinations any host$/m);
  const { stdout } = await run(words, { env });
  expect(stdout).toMatch(/^ok +configuration .*, destinations shop\.example, \*\.shop\.example$/m);
  const { code, stderr } = await run([...words, "--destinations", "*"]);
  expect([code, stderr]).toEqual([
    2,
    'waypost: --destinations (WAYPOST_DESTINATIONS) cannot contain "*", which would match ' +
      'every host; write "any" instead\n',
  ]);
});

test("an import of a link to a forbidden host is refused without writing anything", async () => {
  const data = ["--data", folder.path];
  await runJson(["keys", "create", ...data]);
  await runJson(["projects", "update", "default", "--destinations", "shop.example", ...data]);
  const { code, stdout, stderr } = await run(["import", "-", ...data, "--yes"], { input: rows });
  expect([code, stdout + stderr]).toEqual([1, expect.stringContaining(`Url ${refusal}`)]);
  expect(await listEmbedded(folder.path)).toEqual([]);
});

test("waypost import into a local data folder is not limited by WAYPOST_DESTINATIONS", async () => {
  const words = ["import", "-", "--data", folder.path, "--yes"];
  expect((await run(words, { input: rows, env })).code).toBe(0);
  expect(await listEmbedded(folder.path)).toHaveLength(2);
});

test("a session's own WAYPOST_DESTINATIONS limits links created on a remote server", async () => {
  await using serving = await startServe(folder.path);
  await using own = await createFolder();
  const remote = { WAYPOST_BASE_URL: serving.places.url, WAYPOST_API_KEY: serving.key };
  const given = { transport: "stdio", data: own.path, env: { ...remote, ...env } } as const;
  await using client = await connectV1(given);
  const create = async (url: string) => client.callTool("create_link", { url });
  expect((await create("https://a.shop.example/")).isError).not.toBe(true);
  const { structured } = await create("https://evil.example/");
  expect(structured.error).toMatchObject({
    code: "validation_failed",
    effect: "none",
    problems: [{ field: "url", message: expect.stringContaining(refusal) }],
  });
  const { body } = await serving.call("GET", "/links");
  expect(body.meta.count).toBe(1);
});
