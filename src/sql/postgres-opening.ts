import { readCode } from "./postgres-faults.ts";
import { quoteName } from "./postgres-rights.ts";

/** Why a server lets nobody in, and what to do about it: in its own words, and then in ours. */
export function explainOpening(error: unknown, url: string): string {
  if (!(error instanceof Error)) return "unknown error";
  if (error.message.includes("client password must be")) return noPassword;
  if (error.message === noTls) return `${error.message}. ${turnTlsOn}`;
  const advice = advices[readCode(error)]?.(readNames(url));
  return advice === undefined ? error.message : `${error.message}. ${advice}`;
}

const noPassword =
  "the server needs a password. Add it to the address (best in the " +
  "file of WAYPOST_DATABASE_URL_FILE), or set PGPASSWORD";

type Names = { readonly role: string; readonly database: string };

/** The driver's own words, without a code. */
const noTls = "The server does not support SSL connections";
const turnTlsOn =
  "Ask an administrator to turn on TLS there (ssl = on). If the network is safe, you can remove " +
  "sslmode from the address instead";

const nameRoot = () =>
  "Add sslmode=verify-full&sslrootcert=FILE to the address. FILE is the root certificate of the " +
  "server, which its provider offers";
const nameHost = () =>
  "Use the host name of the certificate in the address, or ask an administrator for a " +
  "certificate with this host name";
const checkLogin = () =>
  "Check the user and the password in the address, and the server's pg_hba.conf. If the server " +
  "requires TLS, add sslmode=verify-full to the address";

const administrator = "Ask an administrator to run:";

const advices: Readonly<Record<string, (names: Names) => string>> = {
  "42501": ({ role, database }) =>
    `${administrator} GRANT CONNECT ON DATABASE ${database} TO ${role}`,
  "28000": checkLogin,
  "28P01": checkLogin,
  DEPTH_ZERO_SELF_SIGNED_CERT: nameRoot,
  SELF_SIGNED_CERT_IN_CHAIN: nameRoot,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: nameRoot,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: nameRoot,
  ERR_TLS_CERT_ALTNAME_INVALID: nameHost,
  "3D000": ({ role, database }) => `${administrator} CREATE DATABASE ${database} OWNER ${role}`,
};

/** The driver takes both from elsewhere where the address leaves them out. */
function readNames(url: string): Names {
  const { username, pathname } = new URL(url);
  return {
    role: username === "" ? "the role" : quoteName(decodeURIComponent(username)),
    database: quoteName(decodeURIComponent(pathname.slice(1))),
  };
}
