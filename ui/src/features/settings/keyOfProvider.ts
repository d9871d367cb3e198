/* The key of a provider: kept as a secret for the provider's host, under the provider's name. The settings hold that name
   alone; a value is in this page's memory until it is saved. */

import { useQueryClient } from "@tanstack/react-query";

import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";

import { providerName } from "./patch";
import { usePatch } from "./useSetting";

/** The host that a key goes to, as secrets are bound: in the open only where the address says `http`. */
export function hostOf(address: string): string | undefined {
  if (!URL.canParse(address.trim())) return undefined;
  const { protocol, host } = new URL(address.trim());
  return protocol === "https:" ? host : protocol === "http:" ? `http://${host}` : undefined;
}

/** A free name for the key of a provider. */
export function secretNameFor(provider: string, taken: readonly string[]): string {
  const name = providerName(provider).slice(0, 56);
  const names = [name, `${name}-key`, ...taken.map((_, at) => `${name}-key-${at + 2}`)];
  return names.find((candidate) => !taken.includes(candidate)) ?? name;
}

interface Keyed {
  name: string;
  baseUrl: string;
  keySecret: string | null;
}

/** What can be done with the key of a provider. Each ends when the list of secrets and the providers are asked anew. */
export function useProviderKey() {
  const platform = usePlatform();
  const client = useQueryClient();
  const patch = usePatch();
  const asked = () => Promise.all([keys.secrets, keys.providers].map((queryKey) => client.invalidateQueries({ queryKey })));
  const stored = async () => (await platform.rpc("secrets.list", {})).secrets;

  /** Stores a key under a name that is free, before the provider is there; answers the name. */
  const keep = async (provider: string, host: string, value: string) => {
    const name = secretNameFor(provider, (await stored()).map((secret) => secret.name));
    await platform.rpc("secrets.set", { name, value, hosts: [host] });
    await asked();
    return name;
  };
  const forget = async (name: string) => {
    await platform.rpc("secrets.remove", { name });
    await asked();
  };
  /** Stores another key where the present one is, or the first one of a provider that has none. */
  const replace = async ({ name, baseUrl, keySecret }: Keyed, value: string) => {
    const host = hostOf(baseUrl) ?? baseUrl;
    if (keySecret === null) {
      const secret = await keep(name, host, value);
      try {
        await patch({ providers: { [name]: { keySecret: secret } } });
      } catch (error) {
        // Nobody names it then. That it could not be taken away is less to know than why the settings refused it.
        await forget(secret).catch(() => undefined);
        throw error;
      }
      return;
    }
    const hosts = (await stored()).find((secret) => secret.name === keySecret)?.hosts ?? [];
    await platform.rpc("secrets.set", { name: keySecret, value, ...(!hosts.includes(host) && { hosts: [...hosts, host] }) });
    await asked();
  };
  /** A secret that another provider names as well stays. */
  const remove = async ({ name, keySecret }: Keyed, others: readonly (string | null)[]) => {
    await patch({ providers: { [name]: { keySecret: null } } });
    if (keySecret !== null && !others.includes(keySecret)) await forget(keySecret);
  };
  return { keep, forget, replace, remove };
}
