import { once } from "node:events";
import { createServer } from "node:http";
import { expect, test } from "vitest";
import { createFolder, run, startServe } from "../support/command.ts";
import { findFreePort } from "../support/ports.ts";

test("waypost health succeeds while serve is ready, and fails otherwise", async () => {
  await using folder = await createFolder();
  const port = String(await findFreePort());
  const check = () => run(["health", "--port", port, "--host", "0.0.0.0"]);
  expect(await check()).toMatchObject({ code: 1, stderr: expect.stringContaining("Not ready: ") });
  await using serving = await startServe(folder.path, ["--port", port]);
  expect(await check()).toMatchObject({ code: 0, stderr: `Waypost is ready on port ${port}.\n` });
  await serving.stop();
  expect((await check()).code).toBe(1);
});

test("waypost health fails if another program responds, even if the response never ends", async () => {
  const other = createServer((_, response) => {
    response.writeHead(200).write("hello");
  }).listen(0, "127.0.0.1");
  await once(other, "listening");
  // A listening TCP server has an address with a port.
  const { port } = other.address() as { readonly port: number };
  const { code, stderr } = await run(["health", "--port", String(port)]);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("returns status 200"),
  });
  other.closeAllConnections();
  other.close();
});
