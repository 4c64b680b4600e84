/** The default data folder: `waypost` in the XDG data folder. */
export function findDataFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const { XDG_DATA_HOME: data, HOME: home, USERPROFILE: profile } = environment;
  if (data !== undefined && data !== "") return `${data}/waypost`;
  const folder = home || profile || ".";
  return `${folder}/.local/share/waypost`;
}
