import * as z from "zod";
import { opensLinks, type AssociationSystem } from "../visit/association-files.ts";

/** Reads which apps an association file lists. */

export type NamedApps = {
  /** App IDs on iOS; on Android, each package with each of its fingerprints. */
  readonly apps: ReadonlySet<string>;
  /** App Clips; Android has none. */
  readonly clips: ReadonlySet<string>;
};

/** Undefined if the content is not an association file. */
export function readNamedApps(system: AssociationSystem, content: unknown): NamedApps | undefined {
  return system === "ios" ? readIosFile(content) : readAndroidFile(content);
}

const names = z.array(z.string()).optional();
const iosFile = z.looseObject({
  applinks: z
    .looseObject({
      details: z.array(z.looseObject({ appID: z.string().optional(), appIDs: names })),
    })
    .optional(),
  appclips: z.looseObject({ apps: names }).optional(),
});

function readIosFile(content: unknown): NamedApps | undefined {
  const { data } = iosFile.safeParse(content);
  if (data === undefined) return undefined;
  const details = data.applinks?.details ?? [];
  return {
    apps: new Set(details.flatMap(({ appID, appIDs = [] }) => [...appIDs, ...toList(appID)])),
    clips: new Set(data.appclips?.apps),
  };
}

const androidFile = z.array(
  z.looseObject({
    relation: z.array(z.string()),
    target: z.looseObject({
      namespace: z.string(),
      package_name: z.string().optional(),
      sha256_cert_fingerprints: names,
    }),
  }),
);

function readAndroidFile(content: unknown): NamedApps | undefined {
  const { data } = androidFile.safeParse(content);
  if (data === undefined) return undefined;
  const apps = data
    .filter(({ relation }) => relation.includes(opensLinks))
    .flatMap(({ target: { package_name, sha256_cert_fingerprints: prints = [] } }) =>
      prints.map((print) => writeSigned(package_name ?? "", print)),
    );
  return { apps: new Set(apps), clips: new Set() };
}

/** Google's response about the statements that it has read from a site. */
const statements = z.looseObject({
  statements: z
    .array(
      z.looseObject({
        relation: z.string().optional(),
        target: z.looseObject({
          androidApp: z
            .looseObject({
              packageName: z.string(),
              certificate: z.looseObject({ sha256Fingerprint: z.string() }).optional(),
            })
            .optional(),
        }),
      }),
    )
    .optional(),
  errorCode: names,
});

export type GoogleAnswer = NamedApps & { readonly errors: readonly string[] };

export function readGoogleAnswer(content: unknown): GoogleAnswer | undefined {
  const { data } = statements.safeParse(content);
  if (data === undefined) return undefined;
  const apps = (data.statements ?? []).flatMap(({ target: { androidApp } }) => {
    const print = androidApp?.certificate?.sha256Fingerprint;
    return androidApp === undefined || print === undefined
      ? []
      : [writeSigned(androidApp.packageName, print)];
  });
  // Only Google's own error codes are shown, and no other text.
  const errors = (data.errorCode ?? []).filter((code) => /^[A-Z_]{1,60}$/.test(code));
  return { apps: new Set(apps), clips: new Set(), errors };
}

function writeSigned(packageName: string, print: string): string {
  return `${packageName} ${print.toUpperCase()}`;
}

function toList(name: string | undefined): readonly string[] {
  return name === undefined ? [] : [name];
}
