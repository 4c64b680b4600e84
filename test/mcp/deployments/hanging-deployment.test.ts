import { expect, test } from "vitest";
import { callDone, callRefused } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";
import { plantLinks } from "../../support/planting.ts";
import { beSlow, ignoreOwn, createStrangeWorld, type StrangeWorld } from "../../support/remote.ts";

/** An audit of a hanging server ends after 20 seconds, with the links read so far. */

const count = 24;
let strange: StrangeWorld;
openForEach(createStrangeWorld, async (opened) => {
  strange = opened;
  const seeds = Array.from({ length: count }, (_, index) => ({
    name: `Spring ${index}`,
    path: `p${index}`,
    pause: 1000,
  }));
  await plantLinks(strange.world, seeds);
});

test("audit_links returns a partial result if the request for a page times out", async () => {
  beSlow(strange);
  let asked = 0;
  let silent = "";
  strange.proxy.setAlter(({ path }, reply) => {
    if (path.startsWith("/api/v1/links?")) asked += 1;
    if (asked !== 4) return reply;
    asked += 1;
    silent = path;
    strange.advance(20_000);
    return new Promise(() => undefined);
  });
  const { audit: far } = await callDone(strange, "audit_links", {});
  expect(far.complete).toBe(false);
  expect(far.checked).toBeGreaterThan(0);
  expect(far.checked).toBeLessThan(count);
  // A request that times out must not be repeated.
  expect(strange.proxy.requests.filter(({ path }) => path === silent)).toHaveLength(1);
});

test.each(["/ios_apps", "/links?"])(
  "audit_links fails after 20 s if the server does not answer requests to %s",
  async (first) => {
    ignoreOwn(strange);
    let hanging = 0;
    strange.proxy.setAlter(({ path }, reply) => {
      if (!path.startsWith(`/api/v1${first}`)) return reply;
      hanging += 1;
      strange.advance(20_000);
      return new Promise(() => undefined);
    });
    const refused = await callRefused(strange, "audit_links", {});
    expect(refused).toMatchObject({ code: "timed_out", effect: "none", retry: "later" });
    expect(refused.message).toContain("within 20 s, and no link was read. Narrower filters");
    expect(refused.next).toBe("Nothing was changed: call audit_links again later.");
    // An audit sends its first two requests at the same time.
    expect(hanging).toBeLessThanOrEqual(2);
  },
);

test("audit_links reports that it could not count unvisited links in time", async () => {
  beSlow(strange);
  let pages = 0;
  strange.proxy.setAlter(({ path }, reply) => {
    if (path.startsWith("/api/v1/links?")) pages += 1;
    if (pages === 4) strange.advance(20_000);
    const isSilent = pages >= 4 || path.includes("clicks");
    return isSilent ? new Promise(() => undefined) : reply;
  });
  const { audit } = await callDone(strange, "audit_links");
  expect(audit).toMatchObject({ checked: expect.any(Number), complete: false });
  expect(audit.not_checked).toContain("Links never visited: the server did not answer in time.");
});
