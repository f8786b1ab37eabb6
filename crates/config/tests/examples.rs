//! Every example that is shipped passes the check, on a machine with enough CPUs.

use std::path::{Path, PathBuf};

use bng_config::{Config, Machine, Severity, TagMatch, Tpid};

fn machine() -> Machine {
    Machine { cpus: (0..8).collect(), host_name: "host1".into() }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs")
}

fn load(name: &str) -> Config {
    bng_config::load_for(&folder().join(name), &machine()).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn every_example_passes() {
    let mut seen = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let users = path.file_name().is_some_and(|name| name == "users.yaml");
        if path.extension().is_some_and(|extension| extension == "yaml") && !users {
            seen += 1;
            if let Err(errors) = bng_config::load_for(&path, &machine()) {
                panic!("{errors}");
            }
        }
    }
    assert!(seen >= 2, "{seen}");
}

#[test]
fn the_quick_start_says_what_it_seems_to_say() {
    let config = load("quickstart.yaml");
    assert_eq!(config.node.name, "bng1");
    assert_eq!((config.cores.control, config.cores.workers.as_slice()), (0, [1, 1].as_slice()));
    let [access, core] = config.ports.as_slice() else { panic!() };
    assert!(access.is_net_tap && access.is_virtual && access.is_access && !access.is_core);
    assert_eq!((access.device_name.as_str(), access.mtu, access.queues), ("net_tap0", 1504, 2));
    assert!(core.is_core && !core.is_access);
    assert_eq!((core.mtu, core.queues), (1500, 2));
    assert_eq!(config.routes[0].interface, 0);
    assert_eq!(config.access[0].tags, TagMatch::Untagged);
    let profile = &config.profiles[config.access[0].profile];
    assert_eq!(profile.pppoe.ac_name, "bng1");
    assert_eq!(profile.pppoe.service_names, [""]);
    let ipv4 = profile.ipv4.as_ref().unwrap();
    let reserved: Vec<String> =
        config.ipv4_pools[ipv4.pool].reserved.iter().map(|(first, last)| format!("{first}-{last}")).collect();
    assert_eq!(reserved, ["100.64.0.0-100.64.0.1", "100.64.255.255-100.64.255.255"]);
    assert_eq!(config.aaa.users.len(), 2);
    // The one warning: both workers share a CPU.
    let warnings: Vec<&str> = config.warnings.iter().map(|warning| warning.path.as_str()).collect();
    assert_eq!(warnings, ["cores.workers[1]"]);
    assert!(!format!("{config:?}").contains("secret1"), "a password is shown");
}

#[test]
fn the_carrier_box_has_two_tags_and_its_users_in_a_file() {
    let config = load("two-ports.yaml");
    let TagMatch::Double { tpid: Tpid::Dot1ad, outer, inner } = &config.access[0].tags else { panic!() };
    assert_eq!((outer.to_string(), inner.to_string()), ("100-199".into(), "any".into()));
    assert!(matches!(&config.access[1].tags, TagMatch::Single { tpid: Tpid::Dot1q, .. }));
    assert_eq!(config.interfaces[0].vlan, Some(10));
    assert_eq!(config.ports[0].queues, 4);
    assert_eq!(config.aaa.users[1].password.expose(), "secret2");
    assert!(config.warnings.iter().all(|warning| warning.severity == Severity::Warning));
}

#[test]
fn the_smallest_configuration() {
    let text = "cores: {workers: [1]}\nports: {p: {device: net_null0}}\n";
    let config = bng_config::load_text(Path::new("small.yaml"), text, &machine()).unwrap();
    assert_eq!(config.node.name, "host1");
    assert_eq!(config.ports[0].queues, 1);
    assert_eq!(config.limits.punt_ring_bytes, 1 << 20);
    assert_eq!(config.telemetry.listen.unwrap().to_string(), "127.0.0.1:9464");
}

#[test]
fn the_schema_names_every_key_with_its_default() {
    let schema = bng_config::schema();
    assert_eq!(schema["properties"]["cores"]["required"], serde_json::json!(["workers"]));
    let ppp = &schema["properties"]["profiles"]["additionalProperties"]["properties"]["ppp"];
    assert_eq!(ppp["properties"]["echo_interval"]["default"], "30s");
    assert_eq!(ppp["properties"]["mru"]["minimum"], 576);
    assert_eq!(ppp["properties"]["auth"]["default"], serde_json::json!(["chap-md5", "pap"]));
    assert_eq!(ppp["additionalProperties"], false);
    fn described(value: &serde_json::Value, path: &str) {
        if let Some(properties) = value["properties"].as_object() {
            for (name, property) in properties {
                assert!(property["description"].as_str().is_some_and(|text| text.len() > 3), "{path}.{name}");
                described(property, &format!("{path}.{name}"));
            }
        }
        for below in ["items", "additionalProperties"] {
            if value[below].is_object() {
                described(&value[below], path);
            }
        }
    }
    described(&schema, "");
}
