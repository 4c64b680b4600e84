import { expect, test } from "vitest";
import { link } from "../../contract/sample-link.ts";
import { openStage } from "../../support/stage.ts";

/** A remote server's Warning header appears as a problem in the successful result. */

const page = { page: 1, limit: 20, count: 1, last: 1, from: 1, to: 1 };

async function list(warning: string | undefined) {
  const body = JSON.stringify({ links: [link], meta: page });
  const headers = {
    "content-type": "application/json",
    ...(warning !== undefined && { warning }),
  };
  await using stage = await openStage({
    send: () => Promise.resolve(new Response(body, { headers })),
  });
  return (await stage.callTool("list_links", {})).structured;
}

const warned = (text: string) => ({ message: `The server warned: ${JSON.stringify(text)}` });

test.each([
  ['299 waypost "Ignored filters: url_eq."', ["Ignored filters: url_eq."]],
  ['299 a "one", 199 - "t\\"w\\\\o" "Mon, 01 Jan 2026"', ["one", 't"w\\o']],
  ['299 a "same", 299 a "same"', ["same"]],
  ['299 a "Ignored\u00a0b\u00ad."', ["Ignored b\\u{ad}."]],
])("a Warning header of the remote server is returned as a problem: %s", async (warning, texts) => {
  const result = await list(warning);
  expect(result).toMatchObject({ links: [{ id: link.id }], problems: texts.map(warned) });
});

test.each([undefined, "", "299", "anything", '299 a ""', '299 a "open', "299 a 'b'"])(
  "a malformed or missing Warning header causes no problem: %j",
  async (warning) => {
    expect(await list(warning)).not.toHaveProperty("problems");
  },
);

test("a result contains at most five warnings, truncated and without the API key", async () => {
  const many = Array.from({ length: 9 }, (_, index) => `299 a "${index}"`).join(", ");
  expect(await list(many)).toHaveProperty("problems", ["0", "1", "2", "3", "4"].map(warned));
  const long = await list(`299 a "${"x".repeat(3000)}"`);
  expect(JSON.stringify(long).length).toBeLessThan(2000);
  for (const said of ["a-key is bad", "a\\-key is bad"]) {
    expect(JSON.stringify(await list(`299 a "${said}"`))).not.toContain("a-key");
  }
});
