import { expect, test } from "vitest";
import { createUsedFolder, run, runJson } from "../support/command.ts";
import { startDnsServer } from "./dns-server.ts";

/** `waypost projects update --verify-domain` checks the project's TXT record. */

const domain = "go.example.com";
const record = `_waypost.${domain}`;

async function open() {
  const folder = await createUsedFolder();
  const dns = await startDnsServer();
  const inFolder = (...words: readonly string[]) =>
    run([...words, "--data", folder.path], { env: dns.env });
  await inFolder("keys", "create");
  const update = (...words: readonly string[]) => inFolder("projects", "update", ...words);
  const readVerified = async (): Promise<readonly boolean[]> => {
    const { projects } = await runJson(["projects", "list", "--data", folder.path]);
    return projects.map((project: Project) => project.custom_domain_verified);
  };
  const doctor = async () => {
    const { stdout } = await inFolder("doctor");
    return stdout.split("\n").filter((line) => /^\w+ +domains /.test(line));
  };
  return {
    dns,
    inFolder,
    update,
    readVerified,
    doctor,
    [Symbol.asyncDispose]: async () => {
      await dns[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

type Project = { readonly custom_domain_verified: boolean };

test("a custom domain is verified once DNS contains the printed TXT record", async () => {
  await using at = await open();
  const { dns, update, readVerified } = at;
  const given = await update("default", "--custom-domain", domain);
  const [, value = ""] =
    /^ {2}_waypost\.go\.example\.com {2}TXT {2}"(.+)"$/m.exec(given.stderr) ?? [];
  expect([given.code, value]).toEqual([0, expect.stringMatching(/^waypost-verification=\w{40}$/)]);
  expect((await update("default", "--name", "Shop")).stderr).not.toContain("TXT");

  const refused = async (fault: string) => {
    const { code, stderr } = await update("default", "--verify-domain");
    expect([code, stderr]).toEqual([2, expect.stringContaining(`"${value}" ${fault}`)]);
    expect(await readVerified()).toEqual([false]);
  };
  await refused("does not exist");
  dns.records.set(record, ["v=spf1 -all", "waypost-verification=other"]);
  await refused("has a different value");
  dns.records.set(record, ["v=spf1 -all", value]);
  expect((await update("default", "--verify-domain")).code).toBe(0);
  expect(await readVerified()).toEqual([true]);

  // Each project needs its own record.
  await update("default", "--custom-domain", "");
  await at.inFolder("projects", "create", "--name", "Two", "--subdomain", "two");
  const other = await update("two", "--custom-domain", domain, "--verify-domain");
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("has a different value")]);
  expect(await readVerified()).toEqual([false, false]);
});

test("--assume-verified marks a domain as verified without checking DNS", async () => {
  await using at = await open();
  const words = ["--custom-domain", domain, "--assume-verified"];
  const { code, stderr } = await at.update("default", ...words);
  expect([code, await at.readVerified()]).toEqual([0, [true]]);
  expect(stderr).not.toContain("TXT");
  const [warning = ""] = await at.doctor();
  expect(warning).toMatch(/does not exist\. Set it to "[^"]+", or ignore .* --assume-verified\.$/);
});

test("doctor reports a domain that is unverified or has no DNS record", async () => {
  await using at = await open();
  expect(await at.doctor()).toEqual([]);
  await at.update("default", "--custom-domain", domain);
  const [unverified = ""] = await at.doctor();
  expect(unverified).toMatch(/^WARN +domains +go\.example\.com is not verified, .*does not exist/);
  const [, value = ""] = /"(waypost-verification=\w+)"/.exec(unverified) ?? [];
  at.dns.records.set(record, [value]);
  const [waiting = ""] = await at.doctor();
  expect(waiting).toContain("run waypost projects update default --verify-domain");
  await at.update("default", "--verify-domain");
  expect(await at.doctor()).toEqual([]);
  at.dns.records.delete(record);
  const [missing = ""] = await at.doctor();
  expect(missing).toMatch(
    /^WARN +domains +go\.example\.com is marked as verified, .* does not exist\. Set it to/,
  );
});
