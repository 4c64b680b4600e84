import type { AssociationSystem } from "../visit/association-files.ts";
import { quote } from "../text/show-hidden.ts";

/** The findings of a domain check: what keeps apps from opening, and how to fix it. */

/** An error keeps at least some apps from opening. A warning may become an error later. */
export type Severity = "error" | "warning" | "info";

export type DomainFinding = {
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  readonly fix: string;
};

export type DomainReport = {
  readonly host: string;
  readonly ok: boolean;
  readonly findings: readonly DomainFinding[];
};

export function describe(
  severity: Severity,
  code: string,
  message: string,
  fix: string,
): DomainFinding {
  return { code, severity, message, fix };
}

type SystemFacts = {
  readonly name: string;
  /** The company whose servers request the file, with the user agent in `agent`. */
  readonly reader: string;
  readonly agent: string;
  readonly file: string;
};

export const systems: Readonly<Record<AssociationSystem, SystemFacts>> = {
  ios: {
    name: "iOS",
    reader: "Apple",
    agent: "AASA-Bot/1.0.0",
    file: "apple-app-site-association",
  },
  android: {
    name: "Android",
    reader: "Google",
    agent: "GoogleAssociationService",
    file: "assetlinks.json",
  },
};

const mostNamed = 5;

export function listNames(names: Iterable<string>): string {
  const all = [...names];
  const shown = all.slice(0, mostNamed).map((name) => quote(name));
  const more = all.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
