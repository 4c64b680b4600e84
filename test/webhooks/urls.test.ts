import { describe, expect, test } from "vitest";
import { readNetworks } from "../../src/network/read-networks.ts";
import { findUrlFault } from "../../src/webhooks/reach.ts";

/** Which addresses are refused at once, for nothing could ever be delivered to them. */

const find = (url: string, named: string) =>
  findUrlFault(url, named === "" ? [] : (readNetworks(named) ?? []));

describe("a webhook's address", () => {
  test.each([
    ["https://10.0.0.1/x", ""],
    ["https://10.0.0.1/x", "192.168.0.0/16"],
    ["http://10.0.0.1/x", "192.168.0.0/16"],
    ["https://0x7f000001/", ""],
    ["https://2130706433/", "10.0.0.0/8"],
    ["https://169.254.169.254/", "10.0.0.0/8"],
    ["https://[::1]/", ""],
    ["https://[fd00::1]:8443/", "10.0.0.0/8"],
    ["https://[::ffff:10.0.0.1]/", ""],
    ["https://localhost:3000/", ""],
    ["http://hooks.localhost:3000/", "10.0.0.0/8"],
  ])("%s leads to no network that is named: %j", (url, named) => {
    const fault = find(url, named);
    expect(fault).toContain(`points to ${new URL(url).hostname}, which is not on the public`);
    expect(fault).toContain("WAYPOST_WEBHOOK_PRIVATE");
  });

  test.each([
    ["http://example.com/", ""],
    ["http://93.184.216.34/", ""],
    ["http://93.184.216.34/", "10.0.0.0/8"],
    ["http://[2606:4700::1]/", "loopback"],
  ])("%s is no https to the public internet, whatever is named: %j", (url, named) => {
    expect(find(url, named)).toContain("must be an https address");
  });

  test.each([
    ["https://example.com:25/", ""],
    ["https://93.184.216.34:22/", "10.0.0.0/8"],
  ])("%s has a port that nothing is sent to, whatever is named: %j", (url, named) => {
    expect(find(url, named)).toContain("port below 1024");
  });

  test.each([
    ["https://example.com/", ""],
    ["https://example.com:8443/", ""],
    ["https://93.184.216.34/", ""],
    ["https://10.0.0.1:500/x", "10.0.0.0/8"],
    ["http://10.0.0.1/x", "10.0.0.0/8"],
    ["http://localhost:3000/", "loopback"],
    ["http://localhost:3000/", "127.0.0.1/32"],
    ["http://[::1]:3000/", "loopback"],
    // Where a name leads is looked up at each attempt.
    ["http://receiver.example:25/", "10.0.0.0/8"],
  ])("%s may be delivered to where this is named: %j", (url, named) => {
    expect(find(url, named)).toBeUndefined();
  });
});
