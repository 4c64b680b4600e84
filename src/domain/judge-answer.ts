import type { FetchedFile, FileAnswer } from "../network/hosts/fetch-file.ts";
import { quote } from "../text/show-hidden.ts";
import { mostFile_bytes, type AssociationSystem } from "../visit/association-files.ts";
import { describe, systems, type DomainFinding } from "./finding.ts";

/** What an association file was answered with, as its readers take it. */

type Judged = {
  readonly findings: readonly DomainFinding[];
  /** What is in the file, where that could be read. */
  readonly content: unknown;
};

/** That a host is not reached concerns both of its files alike. */
export function judgeUnreached(
  host: string,
  fetched: Exclude<FetchedFile, { readonly kind: "answered" }>,
): DomainFinding {
  switch (fetched.kind) {
    case "not_public":
      return describe(
        "error",
        "host_not_public",
        `${quote(host)} leads to no address of the public internet, as seen from here.`,
        "Have its A or AAAA records lead to your proxy's public address, and to no private one.",
      );
    case "unreachable":
      return describe(
        "error",
        "host_unreachable",
        `No way leads from here to the addresses of ${quote(host)}.`,
        "See whether its A and AAAA records are right, and whether this machine has the internet.",
      );
    case "refused":
      return describe(
        "error",
        "host_refuses",
        `${quote(host)} refuses connections at port 443.`,
        "Have a proxy that ends TLS listen at port 443, and open the firewall for it.",
      );
    case "timed_out":
      return describe(
        "error",
        "host_too_slow",
        `${quote(host)} did not answer whole within 10 seconds.`,
        "See whether the firewall lets port 443 through, and whether the proxy reaches Waypost.",
      );
    case "untrusted":
      return describe("error", "tls_invalid", ...explainTls(host, fetched.code));
    case "unreadable":
      return describe(
        "error",
        "host_unreadable",
        `${quote(host)} ended the connection, or answered no HTTP.`,
        "See in the proxy's log what became of it; nothing but HTTPS may listen at port 443.",
      );
  }
}

function explainTls(host: string, code: string): readonly [message: string, fix: string] {
  const certificate = `The certificate of ${quote(host)}`;
  if (code === "CERT_HAS_EXPIRED") return [`${certificate} has expired.`, "Renew it."];
  if (code === "CERT_NOT_YET_VALID") {
    return [`${certificate} is not valid yet.`, "Set the clocks right, or have it issued anew."];
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const fix = "Have one issued that names this host, and served for it (SNI).";
    return [`${certificate} is one of other hosts.`, fix];
  }
  if (code.includes("SELF_SIGNED")) {
    const fix = "Have it issued by an authority that phones know, such as Let's Encrypt.";
    return [`${certificate} vouches for itself, and phones do not trust it.`, fix];
  }
  if (code.includes("UNABLE_TO_")) {
    const fix = "Serve the full chain, with the intermediate certificates of its authority.";
    return [`${certificate} comes without those that lead to an authority.`, fix];
  }
  if (code.includes("CERT") || !/^(?:EPROTO$|ERR_)/.test(code)) {
    return [`${certificate} is not valid.`, "Have it issued anew, for servers."];
  }
  const fix = "Have the proxy speak TLS 1.2 or 1.3 for this host at port 443.";
  return [`With ${quote(host)} no TLS connection comes about.`, fix];
}

/** `others` is the status that somebody else is answered, where that was asked. */
export function judgeAnswer(
  system: AssociationSystem,
  answer: FileAnswer,
  others: number | undefined,
): Judged {
  const { status } = answer;
  if (status !== 200) {
    return { findings: [judgeStatus(system, answer, others)], content: undefined };
  }
  const { findings, content } = readContent(system, answer);
  return { findings: [...judgeType(system, answer), ...findings], content };
}

function judgeStatus(
  system: AssociationSystem,
  { status, headers }: FileAnswer,
  others: number | undefined,
): DomainFinding {
  const { file, reader, agent } = systems[system];
  const location = headers.get("location");
  if (status >= 300 && status < 400 && location !== undefined) {
    return describe(
      "error",
      `${system}_file_redirected`,
      `${file} is answered ${status} and leads to ${quote(location)}: ${reader} follows nothing.`,
      "Answer it at this address: take /.well-known/ out of redirects to www or a slash.",
    );
  }
  if (others === 200) {
    return describe(
      "error",
      `${system}_agent_refused`,
      `${file} is answered ${status} where ${reader} asks as ${agent}, and 200 to others.`,
      `Let ${agent} have /.well-known/ in the bot rules of your proxy or firewall.`,
    );
  }
  return describe(
    "error",
    `${system}_file_status`,
    `${file} is answered ${status}, and has to be answered 200.`,
    status === 404
      ? "Have the proxy hand /.well-known/ on to Waypost, with the Host header as it came."
      : "See in the proxy's and in Waypost's log why; nothing may ask for a login there.",
  );
}

function judgeType(system: AssociationSystem, { headers }: FileAnswer): readonly DomainFinding[] {
  const written = headers.get("content-type") ?? "";
  const [type = ""] = written.split(";");
  if (type.trim().toLowerCase() === "application/json") return [];
  const { file } = systems[system];
  const found = written === "" ? "no type" : `the type ${quote(written)}`;
  return [
    describe(
      // Apple reads it all the same, where nothing else says that it is no JSON.
      system === "ios" ? "warning" : "error",
      `${system}_file_type`,
      `${file} comes with ${found} in place of application/json.`,
      "Have the proxy leave Content-Type as Waypost sends it.",
    ),
  ];
}

function readContent(system: AssociationSystem, answer: FileAnswer): Judged {
  const { body, isCut } = answer;
  const { file } = systems[system];
  const tell = (code: string, message: string, fix: string): Judged => ({
    findings: [describe("error", `${system}_file_${code}`, `${file} ${message}`, fix)],
    content: undefined,
  });
  if (isCut || body.length > mostFile_bytes) {
    const fix = "Serve the file as Waypost makes it, which is never longer.";
    return tell("too_large", `is larger than ${mostFile_bytes / 1024} KB.`, fix);
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    return { findings: [], content: JSON.parse(text) };
  } catch {
    const fix = "Have the proxy hand /.well-known/ on to Waypost; it may answer a page of its own.";
    return tell("invalid", "is no JSON that can be read.", fix);
  }
}
