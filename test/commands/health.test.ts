import { createServer } from "node:http";
import { expect, test } from "vitest";
import { createUsedFolder, run, startServe } from "../support/command.ts";
import { findFreePort, openServer } from "../support/ports.ts";

/** waypost health, which containers run to check a server. */
test("waypost health succeeds while serve is ready, and fails otherwise", async () => {
  await using folder = await createUsedFolder();
  const port = String(await findFreePort());
  const check = () => run(["health", "--port", port, "--host", "0.0.0.0"]);
  expect(await check()).toMatchObject({ code: 1, stderr: expect.stringContaining("Not ready: ") });
  await using serving = await startServe(folder.path, ["--port", port]);
  expect(await check()).toMatchObject({ code: 0, stderr: `Waypost is ready on port ${port}.\n` });
  await serving.stop();
  expect((await check()).code).toBe(1);
});

test("waypost health fails if another program responds with an endless body", async () => {
  await using other = await openServer(
    createServer((_, response) => void response.writeHead(200).write("hello")),
  );
  const { code, stderr } = await run(["health", "--port", String(other.port)]);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("returns status 200"),
  });
});
