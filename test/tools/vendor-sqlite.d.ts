/** The built command loads SQLite from this path. */
export const packagedSqlite: Readonly<Record<string, string>>;
