import { expect, test } from "vitest";
import { readNetworks } from "../../src/network/ip-address.ts";
import { findUrlFault } from "../../src/webhooks/send-message.ts";

/** Tests which addresses a webhook may have. */

const find = (url: string, named: string) =>
  findUrlFault(url, named === "" ? [] : (readNetworks(named) ?? []));

const isPrivate = "not on the public internet. Set WAYPOST_WEBHOOK_PRIVATE";
const isPlain = "must be an https address";
const isBadPort = "port below 1024";

test.each([
  ["https://10.0.0.1/x", "", isPrivate],
  ["https://10.0.0.1/x", "192.168.0.0/16", isPrivate],
  ["http://10.0.0.1/x", "192.168.0.0/16", isPrivate],
  ["https://0x7f000001/", "", isPrivate],
  ["https://2130706433/", "10.0.0.0/8", isPrivate],
  ["https://169.254.169.254/", "10.0.0.0/8", isPrivate],
  ["https://[::1]/", "", isPrivate],
  ["https://[fd00::1]:8443/", "10.0.0.0/8", isPrivate],
  ["https://[::ffff:10.0.0.1]/", "", isPrivate],
  ["https://localhost:3000/", "", isPrivate],
  ["http://hooks.localhost:3000/", "10.0.0.0/8", isPrivate],
  ["http://example.com/", "", isPlain],
  ["http://93.184.216.34/", "", isPlain],
  ["http://93.184.216.34/", "10.0.0.0/8", isPlain],
  ["http://[2606:4700::1]/", "loopback", isPlain],
  ["https://example.com:25/", "", isBadPort],
  ["https://93.184.216.34:22/", "10.0.0.0/8", isBadPort],
])(
  "the webhook URL %s is rejected if the allowed private networks are %j: %s",
  (url, named, fault) => {
    expect(find(url, named)).toContain(fault);
  },
);

test.each([
  ["https://example.com/", ""],
  ["https://example.com:8443/", ""],
  ["https://93.184.216.34/", ""],
  ["https://10.0.0.1:500/x", "10.0.0.0/8"],
  ["http://10.0.0.1/x", "10.0.0.0/8"],
  ["http://localhost:3000/", "loopback"],
  ["http://localhost:3000/", "127.0.0.1/32"],
  ["http://localhost:3000/", "::1"],
  ["http://[::1]:3000/", "loopback"],
  // A host name is looked up only when a message is sent.
  ["http://receiver.example:25/", "10.0.0.0/8"],
])("the webhook URL %s is accepted if the allowed private networks are %j", (url, named) => {
  expect(find(url, named)).toBeUndefined();
});
