import { expect, test } from "vitest";
import { openEmbedded } from "../../src/app/process/embedded.ts";
import { createFolder, run, startServe } from "../support/command.ts";
import { addLinks } from "../support/rows.ts";

/** The built command with so many links that lists are read in a separate thread. */

test("waypost export and serve exit without warnings after reading long lists", async () => {
  await using folder = await createFolder();
  const data = folder.path;
  const { store } = await openEmbedded({ data });
  const { id } = await store.db.selectFrom("projects").select("id").executeTakeFirstOrThrow();
  await store.write((db) => addLinks({ db, projectId: id }, 2100));
  await store.close();

  const exported = await run(["export", "--data", data, "--search", "Link 209", "--log", "silent"]);
  expect(exported).toMatchObject({ code: 0, stderr: "12 links.\n" });
  expect(exported.stdout.trimEnd().split("\n")).toHaveLength(1 + 12);

  await using serving = await startServe(data, ["--log", "silent"]);
  const query = new URLSearchParams({ "q[s]": "shortened_path asc", page: "50" }).toString();
  const { status, body } = await serving.call("GET", "/links", { query });
  expect([status, body.meta.count]).toEqual([200, 2100]);
  // A list is being read while the server stops.
  const last = serving.call("GET", "/links", { query }).catch(() => undefined);
  expect(await serving.stop()).toMatchObject({ code: 0, stderr: expect.stringMatching(/^.*\n$/) });
  await last;
});
