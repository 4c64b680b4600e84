import { request, type ClientRequest } from "node:http";
import { expect, test } from "vitest";
import { browse, readFormToken, signInAt } from "../support/console.ts";
import { createServed, type Serving } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** Limits for forms from visitors who are not signed in. */

let serving: Serving;

openForAll(createServed, (opened) => ({ serving } = opened));

const formType = "application/x-www-form-urlencoded";
const mostBytes = 64 * 1024;

function beginForm(path: string, headers?: Record<string, string>): ClientRequest {
  const sent = createForm(path, headers);
  sent.flushHeaders();
  return sent;
}

function createForm(path: string, headers: Record<string, string> = {}): ClientRequest {
  const { url } = serving.places;
  const sent = request(`${url}${path}`, {
    method: "POST",
    agent: false,
    headers: { accept: "text/html", origin: url, "content-type": formType, ...headers },
  });
  return sent.on("error", () => undefined);
}

function readStatus(sent: ClientRequest): Promise<number | undefined> {
  return new Promise((resolve) => {
    sent.once("response", (response) => {
      response.resume();
      resolve(response.statusCode);
    });
  });
}

test("a signed-out visitor's form gets a 503 while 32 other forms are still arriving", async () => {
  const paths = ["/sign-in", "/links/new"];
  const forms = Array.from({ length: 40 }, (_, at) => beginForm(paths[at % 2] ?? ""));
  for (const form of forms) form.write("key=");
  const refused = new Set<ClientRequest>();
  await new Promise<void>((resolve) => {
    for (const form of forms) {
      form.once("response", (response) => {
        expect([response.statusCode, response.headers["retry-after"]]).toEqual([503, "1"]);
        response.resume();
        if (refused.add(form).size === 8) resolve();
      });
    }
  });
  const waiting = forms.filter((form) => !refused.has(form));
  expect(waiting).toHaveLength(32);
  const [first, ...others] = waiting;
  // A form that arrives complete with its headers does not count.
  const whole = createForm("/sign-in");
  const wholeAnswered = readStatus(whole);
  whole.end("key=wrong");
  expect(await wholeAnswered).toBeLessThan(500);
  expect((await browse(serving.places.url).open("/sign-in")).status).toBe(200);
  for (const form of [...refused, ...others]) form.removeAllListeners("response").destroy();
  first?.removeAllListeners("response");
  const answered = first && readStatus(first);
  first?.end("wrong");
  expect(await answered).toBeLessThan(500);
  const tab = await signInAt(serving);
  expect(tab.cookies.size).toBeGreaterThan(0);
});

test("a signed-out visitor's form of more than 64 KB is rejected without being read", async () => {
  for (const path of ["/sign-in", "/sign-in/once", "/links/new"]) {
    const declared = beginForm(path, { "content-length": String(mostBytes + 1) });
    expect(await readStatus(declared)).toBe(413);
    declared.destroy();
    const undeclared = beginForm(path, { "transfer-encoding": "chunked" });
    undeclared.write("k".repeat(mostBytes + 1));
    expect(await readStatus(undeclared)).toBe(413);
    undeclared.destroy();
  }
});

test("a signed-out visitor's file upload is rejected before it is read", async () => {
  const sent = beginForm("/links/import", {
    "content-type": "multipart/form-data; boundary=x",
    "transfer-encoding": "chunked",
  });
  let status: number | undefined;
  void readStatus(sent).then((read) => (status = read));
  const fileBytes = 1024 * 1024;
  let accepted = 0;
  while (status === undefined && accepted < fileBytes) {
    sent.write("x".repeat(mostBytes));
    accepted += mostBytes;
    // The response to this request shows that the server has handled the earlier chunk.
    await browse(serving.places.url).open("/sign-in");
  }
  sent.destroy();
  expect(status).toBe(401);
  expect(accepted).toBeLessThan(fileBytes);
});

test("a long form that is resent after signing in is shown with its input", async () => {
  const tab = await signInAt(serving);
  const form_token = await readFormToken(tab);
  await tab.post("/sign-out", { form_token });
  for (const length of [mostBytes, mostBytes - 8000]) {
    const typed = { form_token, name: "%".repeat(length / 3), path: "too-long-to-keep" };
    const refused = await tab.post("/links/new", typed);
    expect([refused.status, refused.text.includes("reload")]).toEqual([413, true]);
  }
  await tab.open("/sign-in");
  await tab.submit({ key: serving.key });
  const name = "x".repeat(2 * mostBytes);
  const shown = await tab.post("/links/new", { form_token, name, path: "too-long-to-keep" });
  expect([shown.status, shown.text.includes(name)]).toEqual([200, true]);
  const { body } = await serving.call("GET", "/links?q[path_eq]=too-long-to-keep");
  expect(body.links).toEqual([]);
});
