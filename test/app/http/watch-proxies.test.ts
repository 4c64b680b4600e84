import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { createProxyWatch } from "../../../src/app/http/watch-proxies.ts";
import { readTrustedProxies } from "../../../src/network/client-address.ts";
import { createTestClock } from "../../support/clock.ts";

/** Detecting a proxy that is not trusted (docs/deploy.md, "Trusted proxies"). */

const forwarded = { "x-forwarded-for": "203.0.113.9" };

function open(setting?: string) {
  const clock = createTestClock();
  const proxies = setting === undefined ? undefined : readTrustedProxies(setting);
  const watch = createProxyWatch(proxies, clock);
  return {
    ...watch,
    ...clock,
    // Only the remote address of the connection is used.
    look: (remoteAddress: string | undefined, headers = {}) =>
      watch.look({ headers, socket: { remoteAddress } as Socket }),
  };
}

describe("a request with X-Forwarded-For", () => {
  test.each([
    ["127.0.0.1", undefined, true],
    ["::ffff:172.17.0.1", undefined, true],
    ["fd00::7", undefined, true],
    ["127.0.0.1", "192.168.0.0/16", true],
    ["127.0.0.1", "loopback", false],
    ["127.0.0.1", "1", false],
    // Any client on the internet can send this header without being a proxy.
    ["8.8.8.8", undefined, false],
    ["8.8.8.8", "loopback", false],
    [undefined, undefined, false],
  ])(
    "from %s reveals an untrusted proxy if the trusted proxies are %s: %s",
    (peer, setting, isMet) => {
      const { look, hasMet } = open(setting);
      look(peer, forwarded);
      expect(hasMet()).toBe(isMet);
    },
  );
});

test("an untrusted proxy is reported for a day after its last request", () => {
  const { look, hasMet, advance } = open();
  const hours = (count: number) => advance(count * 60 * 60_000);
  look("10.0.0.7", forwarded);
  hours(20);
  look("10.0.0.7", forwarded);
  look("10.0.0.8");
  hours(20);
  expect(hasMet()).toBe(true);
  hours(5);
  expect(hasMet()).toBe(false);
});
