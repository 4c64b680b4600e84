export const packagedSqlite: Readonly<Record<string, string>>;
